import { WEBSOCKET } from '@gateway/contracts/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { KeyCache } from '@gateway/metering/keys/key-cache';
import type { Entered, RequestEntry } from '@gateway/metering/limits/request-entry';
import type { RefusalCounts } from '@gateway/metering/usage/refusal-counts';
import type { Metrics, RefusalReason } from '@gateway/service-kit/metrics';

/** What the edge does for a request over HTTP, for one of many on a connection: who is calling, and may it? */
export interface CallerAccess {
  /**
   * The key now; undefined where it has been revoked, disabled or rotated, or has expired.
   *
   * @throws {GatewayError} `service_unavailable`
   */
  identify(secretHash: string): Identity | undefined | Promise<Identity | undefined>;
  /**
   * Counts a request on its limits; undefined if there are none.
   *
   * @throws {GatewayError} `endpoint_not_allowed`; `service_unavailable` (by the promise)
   */
  enter(identity: Identity): Promise<Entered> | undefined;
}

interface CallerAccessOptions {
  /** Finds keys by the keyed hashes of their secrets. */
  readonly keys: KeyCache;
  readonly entry: RequestEntry;
  readonly refusals: Pick<RefusalCounts, 'add'>;
  readonly metrics: Pick<Metrics, 'refused'>;
}

export function createCallerAccess({ keys, entry, refusals, metrics }: CallerAccessOptions): CallerAccess {
  const { scope } = WEBSOCKET;
  const refuse = (reason: RefusalReason, { keyId, team }: Identity) => {
    metrics.refused(reason);
    refusals.add({ keyId, team, endpoint: scope ?? '', model: null });
  };
  const counted = async (identity: Identity, entering: Promise<Entered>) => {
    const entered = await entering;
    if (entered.refusal !== null) refuse(entered.refusal.reason, identity);
    return entered;
  };
  return {
    identify: keys.identify,
    enter: (identity) => {
      if (scope !== null && identity.endpoints?.includes(scope) === false) {
        refuse('endpoint', identity);
        throw new GatewayError(
          'endpoint_not_allowed',
          `This key may not use this endpoint any more: it lacks the scope '${scope}'. Ask the person who gave you the key.`,
        );
      }
      const entering = entry.enter(identity, 'openai');
      return entering && counted(identity, entering);
    },
  };
}

/** The same for an unknown, a revoked, an expired and a disabled key: the error does not reveal which. */
export const keyEnded = (): GatewayError =>
  new GatewayError(
    'invalid_key',
    'The API key of this WebSocket is not valid any more. Check that it has not been revoked.',
  );
