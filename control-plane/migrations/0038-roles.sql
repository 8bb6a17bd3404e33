-- Roles that an organization defines itself. The three that every organization has are in the contract.

CREATE TABLE roles (
  organization_id uuid NOT NULL REFERENCES organizations,
  name text COLLATE "C" NOT NULL
    CHECK (name ~ '^[a-z0-9-]{1,40}$' AND name NOT IN ('owner', 'member', 'viewer')),
  permissions text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  PRIMARY KEY (organization_id, name)
);
ALTER TABLE roles ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON roles TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON roles AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON roles TO hawser_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON roles TO hawser_app;
GRANT SELECT ON roles TO hawser_system;
