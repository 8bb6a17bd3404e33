CREATE POLICY grant_reach ON instances AS RESTRICTIVE TO hawser_app
  USING (hawser_granted_user() IS NULL OR instance_id IN (
    SELECT s.instance_id
      FROM session_grants g
      JOIN sessions s ON s.organization_id = g.organization_id AND s.session_id = g.session_id
     WHERE g.organization_id = hawser_organization() AND g.user_id = hawser_granted_user()));
