import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { KeyCache } from '@gateway/metering/keys/key-cache';
import type { Refusals } from '@gateway/metering/usage/refusals';
import type { RefusalReason } from '@gateway/service-kit/metrics';

/** What the edge does for a request over HTTP, for one of many on a connection: who is calling, and may it? */
export interface CallerAccess {
  /**
   * The key now; undefined where it has been revoked, disabled or rotated, or has expired.
   *
   * @throws {GatewayError} `service_unavailable`
   */
  identify(secretHash: string): Identity | undefined | Promise<Identity | undefined>;
  /** @throws {GatewayError} `endpoint_not_allowed` where the key has lost the scope meanwhile */
  permit(identity: Identity): void;
}

interface CallerAccessOptions {
  /** What the WebSockets are of. */
  readonly endpoint: Endpoint;
  /** Finds keys by the keyed hashes of their secrets. */
  readonly keys: KeyCache;
  readonly refusals: Refusals<RefusalReason>;
}

export function createCallerAccess({ endpoint, keys, refusals }: CallerAccessOptions): CallerAccess {
  const { scope } = endpoint;
  return {
    identify: keys.identify,
    permit: (identity) => {
      if (scope === null || identity.endpoints?.includes(scope) !== false) return;
      refusals.add('endpoint', identity, endpoint);
      throw new GatewayError(
        'endpoint_not_allowed',
        `This key may no longer use this endpoint: it lacks the scope '${scope}'. Ask the person who gave you the key.`,
      );
    },
  };
}

/** The same for an unknown, a revoked, an expired and a disabled key: the error does not reveal which. */
export const keyEnded = (): GatewayError =>
  new GatewayError(
    'invalid_key',
    'The API key of this WebSocket is no longer valid. Check that it has not been revoked.',
  );
