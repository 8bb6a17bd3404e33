-- A member with a role of the organization's own has its name here, and the role 'viewer'. So a node of an earlier
-- version, which knows three roles only, treats such a member as a viewer.
ALTER TABLE memberships
  ADD COLUMN own_role text COLLATE "C",
  ADD CONSTRAINT memberships_own_role_of_viewer CHECK (own_role IS NULL OR role = 'viewer'),
  ADD CONSTRAINT memberships_own_role FOREIGN KEY (organization_id, own_role) REFERENCES roles;
