import type { KeyCache } from '@gateway/metering/keys/key-cache';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { Passes } from '@gateway/metering/keys/pass';

interface IdentifyCallerOptions {
  /** The owner of a key's secret. */
  readonly identify: KeyCache['identify'];
  readonly passes: Pick<Passes, 'read'>;
  readonly readIdentity: ReadKeyIdentity;
}

/** Who sends a request: the owner of the secret, or the key that a pass stands for, as it is at this moment. */
export const createIdentifyCaller =
  ({ identify, passes, readIdentity }: IdentifyCallerOptions): KeyCache['identify'] =>
  (bearer) => {
    const pass = passes.read(bearer);
    if (pass === undefined) return identify(bearer);
    const { keyId, channel } = pass;
    return readIdentity(keyId).then((identity) =>
      identity === undefined || channel === null ? identity : { ...identity, channel },
    );
  };
