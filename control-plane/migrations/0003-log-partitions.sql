-- The log's weekly partitions are made while the service runs, by nodes that may not make tables:
-- this function does it for them, and nothing else.

-- Makes the partition for sessions born in the week (Monday to Monday, UTC) that begins on the given
-- day. True when the week has one afterwards. False when its rows stay in session_log_rest, either
-- because some are there already or because the table is busy; then the next call tries again.
CREATE FUNCTION hawser_make_log_partition(week_start date) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  -- Whoever waits for this lock holds up every reader and writer of the log behind it.
  SET lock_timeout = '500ms' AS $$
DECLARE
  wanted text := 'session_log_' || to_char(week_start, 'IYYY"w"IW');
  today date := (public.hawser_now() AT TIME ZONE 'UTC')::date;
  first_id uuid;
  next_id uuid;
  has_rows boolean;
BEGIN
  IF extract(isodow FROM week_start) <> 1 THEN
    RAISE 'A week begins on a Monday, and % is none.', week_start USING ERRCODE = 'check_violation';
  END IF;
  IF week_start < today - 7 OR week_start > today + 35 THEN
    RAISE 'The week of % is not near. Partitions are made from this week to five weeks ahead.', week_start
      USING ERRCODE = 'check_violation';
  END IF;
  IF to_regclass('public.' || wanted) IS NOT NULL THEN
    RETURN true;
  END IF;
  -- The first 48 bits of an id are its birth in milliseconds.
  first_id := (lpad(to_hex((extract(epoch FROM week_start) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  next_id := (lpad(to_hex((extract(epoch FROM week_start + 7) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  BEGIN
    -- One at a time, in the mode that attaching takes anyway; creating the table as a partition
    -- from the start would shut out every reader and writer.
    LOCK TABLE public.session_log IN SHARE UPDATE EXCLUSIVE MODE;
    IF to_regclass('public.' || wanted) IS NOT NULL THEN
      RETURN true;
    END IF;
    SELECT EXISTS (
      SELECT FROM public.session_log_rest WHERE session_id >= first_id AND session_id < next_id
    ) INTO has_rows;
    IF has_rows THEN
      RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.session_log INCLUDING ALL)', wanted);
    EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', wanted);
    EXECUTE format(
      'ALTER TABLE public.session_log ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
      wanted, first_id, next_id);
  EXCEPTION
    -- The second: a row of that week came to session_log_rest since it was looked at.
    WHEN lock_not_available OR check_violation THEN
      RETURN false;
  END;
  RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION hawser_make_log_partition FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hawser_make_log_partition TO hawser_system;

-- Taking in a report rewrites its session's row. With some room on the page the new version stays on
-- it, and none of the table's indexes is touched.
ALTER TABLE sessions SET (fillfactor = 85);
