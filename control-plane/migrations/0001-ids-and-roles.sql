-- What every table needs: the clock, ids, who the running transaction serves, and the two database roles.

-- The only clock of all SQL. Tests replace this function in their own database to move time.
CREATE FUNCTION hawser_now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN clock_timestamp();
END $$;

-- Ids are UUIDv7 by database time, to the microsecond, so the ids of all nodes sort by creation time. They
-- name the database that made them, so that a later installation can have several databases, each with some
-- of the organizations, and find the right one from any id.
--
--   bits 0-47    creation time in milliseconds        bits 66-75    shard
--   bits 48-51   version of the UUID                  bits 76-127   random
--   bits 52-63   fraction of the millisecond
--   bits 64-65   variant of the UUID

-- The number of this database, 0 to 1023. To give a database another number, its owner replaces this
-- function before the database contains records.
CREATE FUNCTION hawser_shard() RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 0;

-- Writes the shard into the 16 bytes of a UUID.
CREATE FUNCTION hawser_with_shard(bytes bytea) RETURNS uuid LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  shard int := hawser_shard();
BEGIN
  bytes := set_byte(bytes, 8, 128 | (shard >> 4));
  bytes := set_byte(bytes, 9, ((shard & 15) << 4) | (get_byte(bytes, 9) & 15));
  RETURN encode(bytes, 'hex')::uuid;
END $$;

CREATE FUNCTION hawser_new_id() RETURNS uuid LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  micros bigint := floor(extract(epoch FROM hawser_now()) * 1000000);
  fraction int := ((micros % 1000) * 4096) / 1000;
  bytes bytea := overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(micros / 1000) FROM 3) FROM 1 FOR 6);
BEGIN
  bytes := set_byte(bytes, 6, 112 | (fraction >> 8));
  bytes := set_byte(bytes, 7, fraction & 255);
  RETURN hawser_with_shard(bytes);
END $$;

-- The organization that the running transaction serves; null outside of one, and null matches no row.
CREATE FUNCTION hawser_organization() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('hawser.organization_id', true), '')::uuid;

-- The session whose agent the running transaction serves; null for every other caller.
CREATE FUNCTION hawser_agent_session() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('hawser.agent_session_id', true), '')::uuid;

-- hawser_app serves callers under row-level security. hawser_system crosses organizations, with statements
-- that a test lists. Both are roles that a node's login switches to, and exist once per cluster.
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['hawser_app', 'hawser_system'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
    EXECUTE format('GRANT %I TO CURRENT_USER', wanted);
  END LOOP;
END $$;
