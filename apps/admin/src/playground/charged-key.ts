import { GatewayError } from '@gateway/contracts/gateway-error';
import type { KeyStore } from '@gateway/metering/keys/key-store';

interface ChargedKeyOptions {
  readonly keys: Pick<KeyStore, 'getKey' | 'listKeys'>;
  readonly now: () => number;
}

/** The key that a test is charged to. @throws {GatewayError} where there is none, or several to choose from */
export async function chargedKey(id: string | undefined, { keys, now }: ChargedKeyOptions): Promise<string> {
  if (id === undefined) {
    const { keys: found } = await keys.listKeys({
      limit: 2,
      only: { states: { of: ['active'], nowMs: now() } },
    });
    const [only] = found;
    if (only !== undefined && found.length === 1) return only.id;
    throw new GatewayError('missing_required_parameter', {
      path: ['keyId'],
      message:
        only === undefined
          ? 'A test is charged to a key, and there is none. Create one first.'
          : "Say which key the test is charged to: 'keyId', or --key ID on the command line, whose command 'keys list' shows the ids.",
    });
  }
  if ((await keys.getKey(id)) === undefined)
    throw new GatewayError('object_not_found', { path: ['keyId'], message: `There is no key '${id}'.` });
  return id;
}
