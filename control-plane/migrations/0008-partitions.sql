-- Tables that only grow are partitioned by time, so that an expired period is dropped as a whole and no
-- row is deleted:
--
--   session_log     28 days, by the id of the session
--   audit_entries   28 days, by the id of the entry
--   audit_reads     28 days, by the hour
--   idempotency     1 day, by the command id
--
-- An id begins with its creation time, so a range of ids is a range of time. Rows without a partition are
-- stored in the default partition, whose name ends in _rest.
--
-- These tables have no foreign key to organizations. The key would lock the row of the organization for
-- every insert, so that the calls of one organization wait for each other.

-- The days in a period of a partitioned table; null for any other table.
CREATE FUNCTION hawser_period_days(partitioned text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE partitioned
    WHEN 'session_log' THEN 28
    WHEN 'audit_entries' THEN 28
    WHEN 'audit_reads' THEN 28
    WHEN 'idempotency' THEN 1
  END;

-- The first day of the period that contains the given day. Periods are counted from a Monday.
CREATE FUNCTION hawser_period_start(partitioned text, day date) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN day - (day - date '1970-01-05') % hawser_period_days(partitioned);

-- The lowest value of a table's partition key on the given day, as text.
CREATE FUNCTION hawser_partition_bound(partitioned text, day date) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE partitioned
    WHEN 'audit_reads' THEN to_char(day, 'YYYY-MM-DD "00:00:00+00"')
    -- The first 48 bits of an id are its creation time in milliseconds.
    ELSE lpad(to_hex((extract(epoch FROM day) * 1000)::bigint), 12, '0') || repeat('0', 20)
  END;

CREATE FUNCTION hawser_partition_name(partitioned text, first_day date) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN partitioned || '_' || to_char(first_day, 'YYYYMMDD');

-- Creates and attaches the partition of a period. Only the owner may call it.
CREATE FUNCTION hawser_add_partition(partitioned text, first_day date) RETURNS void
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  name text := hawser_partition_name(partitioned, first_day);
BEGIN
  -- A table that is created as a partition from the start would block every reader and writer.
  EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL)', name, partitioned);
  -- No policy admits a row, so a partition can be read through its table only.
  EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', name);
  EXECUTE format(
    'ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
    partitioned, name,
    hawser_partition_bound(partitioned, first_day),
    hawser_partition_bound(partitioned, first_day + hawser_period_days(partitioned)));
END $$;
REVOKE EXECUTE ON FUNCTION hawser_add_partition FROM PUBLIC;

-- Creates the partition of a period that is near. Nodes may not create tables; this function does it for
-- them. Returns true if the period has a partition afterwards. Returns false if the table is busy, or if
-- the default partition contains rows of the period; the next call tries again.
CREATE FUNCTION hawser_make_partition(partitioned text, first_day date) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, public, pg_temp
  -- A statement that waits for this lock blocks every later reader and writer of the table.
  SET lock_timeout = '500ms' AS $$
DECLARE
  days int := hawser_period_days(partitioned);
  today date := (hawser_now() AT TIME ZONE 'UTC')::date;
BEGIN
  IF days IS NULL THEN
    RAISE 'The table % is not partitioned.', partitioned USING ERRCODE = 'check_violation';
  END IF;
  IF first_day <> hawser_period_start(partitioned, first_day) THEN
    RAISE 'No period of % begins on %.', partitioned, first_day USING ERRCODE = 'check_violation';
  END IF;
  IF first_day <= today - days OR first_day > today + 3 * days THEN
    RAISE 'The period of % is not near. Partitions are made for this period and the next three.', first_day
      USING ERRCODE = 'check_violation';
  END IF;
  BEGIN
    -- Attaching takes this lock anyway. Taken first, it makes concurrent calls wait for each other.
    EXECUTE format('LOCK TABLE public.%I IN SHARE UPDATE EXCLUSIVE MODE', partitioned);
    IF to_regclass('public.' || hawser_partition_name(partitioned, first_day)) IS NULL THEN
      PERFORM hawser_add_partition(partitioned, first_day);
    END IF;
  EXCEPTION
    -- The second: the default partition contains a row of the period.
    WHEN lock_not_available OR check_violation THEN
      RETURN false;
  END;
  RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION hawser_make_partition FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hawser_make_partition TO hawser_system;

-- Whether every row of a period may be removed. Organizations share partitions, so the longest retention
-- of any organization counts.
CREATE FUNCTION hawser_partition_expired(partitioned text, first_day date) RETURNS boolean
  LANGUAGE plpgsql STABLE SECURITY DEFINER
  SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  days int := hawser_period_days(partitioned);
  today date := (hawser_now() AT TIME ZONE 'UTC')::date;
  next_day date := first_day + days;
  age interval := hawser_now() - next_day::timestamp AT TIME ZONE 'UTC';
BEGIN
  -- Nothing expires while the clock may be wrong. Partitions are made ahead, so the period before the current
  -- one has a partition unless no node has run for three periods, or the clock was set far ahead. In both cases
  -- nothing expires until a whole period has passed. Without this, a clock that is wrong by years for five
  -- minutes would remove every log and every audit entry.
  IF to_regclass('public.' || hawser_partition_name(
       partitioned, hawser_period_start(partitioned, today) - days)) IS NULL THEN
    RETURN false;
  END IF;
  CASE partitioned
    WHEN 'idempotency' THEN
      -- A row is valid for a day.
      RETURN age > interval '25 hours';
    WHEN 'audit_entries', 'audit_reads' THEN
      RETURN age > (SELECT max(audit_retention_days) FROM organizations) * interval '1 day';
    WHEN 'session_log' THEN
      -- The retention of a log counts from the end of its session; if the session is open, from its last
      -- entry. Most sessions end within 28 days. The index sessions_outliving contains the others.
      RETURN age > (28 + (SELECT max(log_retention_days) FROM organizations)) * interval '1 day'
        AND NOT EXISTS (
          SELECT FROM sessions s
            JOIN organizations o ON o.organization_id = s.organization_id
           WHERE s.session_id >= hawser_partition_bound(partitioned, first_day)::uuid
             AND s.session_id < hawser_partition_bound(partitioned, next_day)::uuid
             AND (s.ended_at IS NULL OR s.ended_at - s.created_at > interval '28 days')
             AND s.deleted_at IS NULL
             AND hawser_now() - o.log_retention_days * interval '1 day' < coalesce(
                   s.ended_at,
                   (SELECT l.at FROM session_log l WHERE l.session_id = s.session_id AND l.seq = s.applied_seq),
                   s.created_at));
    ELSE
      RETURN false;
  END CASE;
END $$;
REVOKE EXECUTE ON FUNCTION hawser_partition_expired FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hawser_partition_expired TO hawser_system;

-- Drops the partition of a period if it has expired. Returns whether the partition is gone; if not, it
-- has not expired or its table is busy.
CREATE FUNCTION hawser_drop_partition(partitioned text, first_day date) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, public, pg_temp
  SET lock_timeout = '500ms' AS $$
DECLARE
  name text := hawser_partition_name(partitioned, first_day);
BEGIN
  IF to_regclass('public.' || name) IS NULL THEN
    RETURN true;
  END IF;
  -- No row is added to the partition between the check and the drop.
  EXECUTE format('LOCK TABLE public.%I IN SHARE MODE', name);
  IF hawser_partition_expired(partitioned, first_day) IS NOT TRUE THEN
    RETURN false;
  END IF;
  EXECUTE format('DROP TABLE public.%I', name);
  RETURN true;
EXCEPTION
  WHEN lock_not_available THEN
    RETURN false;
END $$;
REVOKE EXECUTE ON FUNCTION hawser_drop_partition FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hawser_drop_partition TO hawser_system;
