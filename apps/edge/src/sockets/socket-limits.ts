import { GatewayError } from '@gateway/contracts/gateway-error';

/** Bounds the WebSockets that one edge holds open: in all, and for each key. */
export interface SocketLimits {
  /**
   * Counts a WebSocket until the returned function is called.
   *
   * @throws {GatewayError} `rate_limited` where the key has too many, `service_unavailable` where the edge has
   */
  take(keyId: string): () => void;
}

interface MaxSockets {
  readonly maxOpen: number;
  readonly maxOpenPerKey: number;
}

const RETRY_AFTER_SECONDS = 5;

export function createSocketLimits({ maxOpen, maxOpenPerKey }: MaxSockets): SocketLimits {
  const openByKey = new Map<string, number>();
  let open = 0;

  return {
    take: (keyId) => {
      const ofKey = openByKey.get(keyId) ?? 0;
      if (ofKey >= maxOpenPerKey) throw tooManyOfKey(maxOpenPerKey);
      if (open >= maxOpen) throw tooMany();
      openByKey.set(keyId, ofKey + 1);
      open += 1;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        open -= 1;
        const left = (openByKey.get(keyId) ?? 1) - 1;
        if (left === 0) openByKey.delete(keyId);
        else openByKey.set(keyId, left);
      };
    },
  };
}

const tooManyOfKey = (limit: number): GatewayError =>
  new GatewayError('rate_limited', {
    message: `Your key has ${limit} WebSockets open, which is its limit. Close one, or use one for several responses with 'stream_id'.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const tooMany = (): GatewayError =>
  new GatewayError('service_unavailable', {
    message:
      'The gateway has too many WebSockets open at the moment. Please try again shortly, or send the request over HTTP.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
