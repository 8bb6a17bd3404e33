CREATE POLICY grant_reach ON requests AS RESTRICTIVE TO hawser_app
  USING (hawser_granted_user() IS NULL OR EXISTS (
    SELECT FROM sessions s
     WHERE s.organization_id = requests.organization_id AND s.session_id = requests.session_id));
