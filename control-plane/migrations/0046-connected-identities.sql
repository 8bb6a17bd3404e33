-- What actions may see and remove of the identities that are connected to members, in the calling organization only.
CREATE FUNCTION sign_in.connected_identities(person uuid, after_user uuid, after_issuer text, after_subject text, most int)
  RETURNS TABLE (user_id uuid, issuer text, subject text, group_role text, created_at timestamptz)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  SELECT i.user_id, i.issuer, i.subject, i.group_role, i.created_at
    FROM sign_in.identities i
   WHERE i.organization_id = hawser_organization() AND (person IS NULL OR i.user_id = person)
     AND (i.user_id, i.issuer, i.subject) > (after_user, after_issuer COLLATE "C", after_subject COLLATE "C")
   ORDER BY i.user_id, i.issuer, i.subject LIMIT most
$$;

-- Ends the sign-ins of the identity too. No row if the member has no such identity.
CREATE FUNCTION sign_in.remove_identity(person uuid, its_issuer text, its_subject text) RETURNS SETOF uuid
  LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  UPDATE sign_in.sign_ins s SET ended_at = hawser_now(), refresh_token = NULL
   WHERE s.user_id = person AND s.ended_at IS NULL AND s.organization_id = hawser_organization()
     AND s.issuer = its_issuer AND s.subject = its_subject;
  DELETE FROM sign_in.identities i
   WHERE i.organization_id = hawser_organization() AND i.issuer = its_issuer AND i.subject = its_subject
     AND i.user_id = person
  RETURNING i.user_id
$$;

-- Whether a member has signed in with the present provider of the calling organization.
CREATE FUNCTION sign_in.uses_provider(person uuid) RETURNS boolean
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  SELECT EXISTS (
    SELECT FROM sign_in.identities i
      JOIN sign_in_settings p ON p.organization_id = i.organization_id AND p.issuer = i.issuer
     WHERE i.organization_id = hawser_organization() AND i.user_id = person)
$$;
REVOKE EXECUTE ON FUNCTION sign_in.connected_identities, sign_in.remove_identity, sign_in.uses_provider FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sign_in.connected_identities, sign_in.remove_identity, sign_in.uses_provider TO hawser_app;

-- An operator's link excepts the owner whom it lets in (decision 0090).
GRANT UPDATE (except_user_ids) ON sign_in_settings TO hawser_sign_in;
