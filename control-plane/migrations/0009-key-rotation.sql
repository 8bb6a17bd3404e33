-- What the service must know to replace its keys while hosts are connected.

-- The command keys that a host has confirmed to have pinned; empty if that is not known.
ALTER TABLE host_keys ADD COLUMN command_keys text[] NOT NULL DEFAULT '{}';
-- The public key that signed the host's newest token; null if that is not known.
ALTER TABLE host_keys ADD COLUMN token_signer text;

-- Names the master key that encrypted a secret; null if that is not known.
ALTER TABLE secrets ADD COLUMN master_key_id text;
