-- Programs that get a key of a person who approves it in a browser (decision 0084). A row says who has approved which
-- program; the key itself is made when the program fetches it, so no text of it is stored.
CREATE TABLE sign_in.device_logins (
  -- SHA-256 of the secret that the program asks with.
  secret_hash bytea PRIMARY KEY,
  -- The code that the person types is short, so its digest needs a secret of the service.
  code_hash bytea NOT NULL UNIQUE,
  -- What the program says about itself and its machine.
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT public.hawser_now(),
  expires_at timestamptz NOT NULL,
  -- When the program asked most recently.
  asked_at timestamptz,
  -- SHA-256 of the cookie of the sign-in that approved it. The key is made only while that sign-in lasts.
  approved_by bytea,
  organization_id uuid,
  refused_at timestamptz,
  fetched_at timestamptz,
  CHECK ((approved_by IS NULL) = (organization_id IS NULL))
);
CREATE INDEX device_logins_by_expiry ON sign_in.device_logins (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in.device_logins TO hawser_sign_in;

-- Links with which an owner who has no other way signs in, once. An operator makes them.
CREATE TABLE sign_in.links (
  -- SHA-256 of the secret, which has 256 random bits.
  secret_hash bytea PRIMARY KEY,
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT public.hawser_now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX links_of_user ON sign_in.links (user_id);
CREATE INDEX links_by_expiry ON sign_in.links (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in.links TO hawser_sign_in;

-- A person lets one more of their devices in, from a browser in which they are signed in: at most one device at a time
-- for each sign-in. The device opens a link and shows digits, and the person types the digits in the browser.
CREATE TABLE sign_in.device_sign_ins (
  -- The sign-in of the browser.
  sign_in_id uuid PRIMARY KEY REFERENCES sign_in.sign_ins ON DELETE CASCADE,
  -- SHA-256 of the secret in the link.
  link_hash bytea NOT NULL UNIQUE,
  -- SHA-256 of the cookie of the device that has opened the link.
  device_hash bytea UNIQUE,
  -- The digits are four, so their digest needs a secret of the service.
  digits_hash bytea,
  device text,
  tries_left int NOT NULL DEFAULT 3,
  expires_at timestamptz NOT NULL,
  confirmed_at timestamptz
);
CREATE INDEX device_sign_ins_by_expiry ON sign_in.device_sign_ins (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in.device_sign_ins TO hawser_sign_in;

-- For the actions of the person in the browser. A later link replaces the one before.
CREATE FUNCTION sign_in.create_device_sign_in(browser uuid, link bytea, seconds int) RETURNS SETOF timestamptz
  LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  INSERT INTO sign_in.device_sign_ins AS d (sign_in_id, link_hash, expires_at)
  VALUES (browser, link, hawser_now() + make_interval(secs => seconds))
  ON CONFLICT (sign_in_id) DO UPDATE
     SET link_hash = excluded.link_hash, device_hash = NULL, digits_hash = NULL, device = NULL, tries_left = 3,
         expires_at = excluded.expires_at, confirmed_at = NULL
  RETURNING d.expires_at
$$;
-- Counts wrong digits. `state` is confirmed, wrong, not_opened or over.
CREATE FUNCTION sign_in.confirm_device_sign_in(browser uuid, digits bytea, seconds int)
  RETURNS TABLE (state text, tries_left int, device text)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
  found sign_in.device_sign_ins;
BEGIN
  SELECT * INTO found FROM sign_in.device_sign_ins d
   WHERE d.sign_in_id = browser AND d.confirmed_at IS NULL AND d.tries_left > 0 AND d.expires_at > hawser_now()
     FOR UPDATE;
  IF found.sign_in_id IS NULL THEN
    RETURN QUERY SELECT 'over', 0, NULL::text;
  ELSIF found.digits_hash IS NULL THEN
    RETURN QUERY SELECT 'not_opened', found.tries_left, NULL::text;
  ELSIF found.digits_hash = digits THEN
    UPDATE sign_in.device_sign_ins d
       SET confirmed_at = hawser_now(), expires_at = hawser_now() + make_interval(secs => seconds)
     WHERE d.sign_in_id = browser;
    RETURN QUERY SELECT 'confirmed', found.tries_left, found.device;
  ELSE
    UPDATE sign_in.device_sign_ins d SET tries_left = d.tries_left - 1 WHERE d.sign_in_id = browser;
    RETURN QUERY SELECT 'wrong', found.tries_left - 1, NULL::text;
  END IF;
END $$;
REVOKE EXECUTE ON FUNCTION sign_in.create_device_sign_in, sign_in.confirm_device_sign_in FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sign_in.create_device_sign_in, sign_in.confirm_device_sign_in TO hawser_app;
