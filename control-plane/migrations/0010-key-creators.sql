-- Who created a key, as ids that a query can follow: the keys of a member who leaves are revoked together
-- with those that the member created. `created_by` has the same as text for readers.
ALTER TABLE api_keys
  -- The user, or else the organization's key, that created this key; both null for bootstrap's.
  ADD COLUMN creator_user_id uuid,
  ADD COLUMN creator_key_id uuid;
CREATE INDEX api_keys_by_creating_user ON api_keys (organization_id, creator_user_id);
CREATE INDEX api_keys_by_creating_key ON api_keys (organization_id, creator_key_id);

-- The UUID in an id that callers see: 26 letters of 5 bits, of which the first two are zero.
CREATE FUNCTION pg_temp.uuid_in(shown text) RETURNS uuid LANGUAGE sql AS $$
  SELECT string_agg(to_hex(substring(bits FROM n * 4 + 3 FOR 4)::bit(4)::int), '' ORDER BY n)::uuid
    FROM (SELECT string_agg((strpos('0123456789abcdefghjkmnpqrstvwxyz', letter) - 1)::bit(5)::text, '' ORDER BY place) AS bits
            FROM regexp_split_to_table(substring(shown FROM 5), '') WITH ORDINALITY AS l (letter, place)) AS whole,
         generate_series(0, 31) AS n
$$;

UPDATE api_keys
   SET creator_user_id = CASE created_by ->> 'type' WHEN 'user' THEN pg_temp.uuid_in(created_by ->> 'id') END,
       creator_key_id = CASE created_by ->> 'type' WHEN 'organization_key' THEN pg_temp.uuid_in(created_by ->> 'id') END
 WHERE created_by IS NOT NULL;
