-- A node of an earlier version changes only `role`, so the member would keep a role of the organization's own, or the
-- change would fail. Whoever changes `role` alone means that the member has no other.
CREATE FUNCTION hawser_leave_own_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.own_role := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER leave_own_role BEFORE UPDATE OF role ON memberships FOR EACH ROW
  WHEN (OLD.own_role IS NOT NULL AND NEW.own_role IS NOT DISTINCT FROM OLD.own_role)
  EXECUTE FUNCTION hawser_leave_own_role();
