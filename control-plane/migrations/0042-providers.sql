-- Single sign-on: the OpenID Connect provider of an organization, and sign-ins with it (decision 0083).

CREATE TABLE sign_in_settings (
  organization_id uuid PRIMARY KEY REFERENCES organizations,
  -- Changes with issuer, client and secret. A sign-in is good only for the settings that it was made with.
  settings_id uuid NOT NULL,
  issuer text NOT NULL,
  client_id text NOT NULL,
  -- Sealed with a secret of the service.
  client_secret bytea NOT NULL,
  groups_claim text,
  -- [{"group": …, "role": …}]: the first one whose group a person has decides.
  group_roles jsonb NOT NULL DEFAULT '[]',
  -- Whether other ways of signing in do not reach the organization.
  required boolean NOT NULL DEFAULT false,
  -- Owners whom `required` does not concern.
  except_user_ids uuid[] NOT NULL DEFAULT '{}',
  -- When a person last signed in with these settings.
  tested_at timestamptz
);
ALTER TABLE sign_in_settings ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sign_in_settings TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON sign_in_settings AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON sign_in_settings TO hawser_sign_in USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_settings TO hawser_app;
GRANT SELECT, UPDATE (tested_at) ON sign_in_settings TO hawser_sign_in;

-- `device` and `link` are for decision 0084.
ALTER TABLE sign_in.sign_ins
  DROP CONSTRAINT sign_ins_way_check,
  ADD CONSTRAINT sign_ins_way_check
    CHECK (way IN ('password', 'invitation', 'passkey', 'provider', 'device', 'link')) NOT VALID,
  -- Somebody who signs in with a provider only has no account.
  DROP CONSTRAINT sign_ins_user_id_fkey,
  ADD CONSTRAINT sign_ins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users NOT VALID,
  -- The organization whose provider the person has signed in with: the only one that the sign-in reaches.
  -- Null for a sign-in of an account.
  ADD COLUMN organization_id uuid,
  ADD COLUMN settings_id uuid,
  ADD COLUMN issuer text,
  ADD COLUMN subject text,
  -- Sealed. Null if the provider issued none, and after the sign-in has ended.
  ADD COLUMN refresh_token bytea,
  -- When the provider last said that it accepts the person, and when it is asked again.
  ADD COLUMN checked_at timestamptz,
  ADD COLUMN check_at timestamptz,
  -- Without another answer of the provider, the sign-in does not count after this time.
  ADD COLUMN provider_until timestamptz,
  ADD CONSTRAINT sign_ins_of_provider CHECK (
    (way = 'provider') = (organization_id IS NOT NULL)
    AND CASE WHEN organization_id IS NULL
      THEN num_nonnulls(settings_id, issuer, subject, refresh_token, checked_at, check_at, provider_until) = 0
      ELSE num_nulls(settings_id, issuer, subject, checked_at, check_at, provider_until) = 0 END) NOT VALID;
CREATE INDEX sign_ins_by_check ON sign_in.sign_ins (check_at)
  WHERE refresh_token IS NOT NULL AND ended_at IS NULL;

CREATE OR REPLACE FUNCTION sign_in.sign_ins_of(person uuid)
  RETURNS TABLE (sign_in_id uuid, way text, device text, created_at timestamptz, last_used_at timestamptz,
                 expires_at timestamptz)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  SELECT s.sign_in_id, s.way, s.device, s.created_at, s.last_used_at, least(s.expires_at, s.provider_until)
    FROM sign_in.sign_ins s
   WHERE s.user_id = person AND s.ended_at IS NULL AND least(s.expires_at, s.provider_until) > hawser_now()
$$;

-- Whether a person can sign in without a provider.
CREATE FUNCTION sign_in.has_own_way(person uuid) RETURNS boolean
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  SELECT EXISTS (SELECT FROM sign_in.accounts a WHERE a.user_id = person AND a.password_hash IS NOT NULL)
      OR EXISTS (SELECT FROM sign_in.passkeys p WHERE p.user_id = person)
$$;
REVOKE EXECUTE ON FUNCTION sign_in.has_own_way FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sign_in.has_own_way TO hawser_app;
