-- Uploaded files belong to the organization's sessions at large, so a grant on one session reaches none of them.
CREATE POLICY grant_reach ON files AS RESTRICTIVE TO hawser_app USING (hawser_granted_user() IS NULL);
