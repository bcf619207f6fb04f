import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { LoadGuard } from '@gateway/service-kit/load/load-guard';

/** What WebSockets hold in memory beside the responses under way: in all, and for each key. */
export interface SocketMemory {
  /** What one connection holds, until it `end`s. */
  open(identity: Identity): ConnectionMemory;
}

export interface ConnectionMemory {
  /**
   * Bytes that cannot be given up: of a message that is arriving, of requests that wait, of what the client has not taken.
   *
   * @throws {GatewayError} `overloaded` where they are too many for the process or the key; then they stay as they were
   */
  hold(kind: 'arriving' | 'waiting' | 'untaken', bytes: number): void;
  /**
   * Counts what is remembered, until it is given back, or forgotten to make room. Null: there is no room for it.
   *
   * @param forget called where the room is needed: the oldest of the key goes first, then the oldest of all
   */
  remember(bytes: number, forget: () => void): (() => void) | null;
  end(): void;
}

interface SocketMemoryOptions {
  /** What the WebSockets are of. */
  readonly endpoint: Endpoint;
  readonly guard: Pick<LoadGuard, 'hold'>;
  /** The most that the connections of one key hold together. */
  readonly maxKeyBytes: number;
  /** The most that is remembered in all. It is given up for what is newer, so it takes nothing from requests. */
  readonly maxRememberedBytes: number;
}

interface Remembered {
  readonly keyId: string;
  readonly bytes: number;
  readonly forget: () => void;
}

export function createSocketMemory({
  endpoint,
  guard,
  maxKeyBytes,
  maxRememberedBytes,
}: SocketMemoryOptions): SocketMemory {
  const bytesOfKeys = new Map<string, number>();
  /** Oldest first. */
  const remembered = new Set<Remembered>();
  let rememberedBytes = 0;

  const add = (keyId: string, bytes: number) => {
    const sum = (bytesOfKeys.get(keyId) ?? 0) + bytes;
    if (sum > 0) bytesOfKeys.set(keyId, sum);
    else bytesOfKeys.delete(keyId);
  };
  const giveBack = (one: Remembered) => {
    if (!remembered.delete(one)) return;
    rememberedBytes -= one.bytes;
    add(one.keyId, -one.bytes);
  };
  const forgetOldest = (isOne: (one: Remembered) => boolean): boolean => {
    for (const one of remembered) {
      if (!isOne(one)) continue;
      giveBack(one);
      one.forget();
      return true;
    }
    return false;
  };
  const makeRoom = (keyId: string, bytes: number): boolean => {
    while ((bytesOfKeys.get(keyId) ?? 0) + bytes > maxKeyBytes)
      if (!forgetOldest((one) => one.keyId === keyId)) return false;
    return true;
  };

  return {
    open: (identity) => {
      const { keyId } = identity;
      const held = guard.hold(endpoint, identity);
      const kinds = { arriving: 0, waiting: 0, untaken: 0 };
      let heldBytes = 0;
      let hasEnded = false;
      const set = (bytes: number) => {
        held.set(bytes);
        add(keyId, bytes - heldBytes);
        heldBytes = bytes;
      };
      return {
        hold: (kind, bytes) => {
          if (hasEnded) return;
          const sum = heldBytes - kinds[kind] + bytes;
          if (sum > heldBytes && !makeRoom(keyId, sum - heldBytes)) throw tooMuchOfKey();
          set(sum);
          kinds[kind] = bytes;
        },
        remember: (bytes, forget) => {
          if (hasEnded || bytes > maxRememberedBytes || !makeRoom(keyId, bytes)) return null;
          while (rememberedBytes + bytes > maxRememberedBytes && forgetOldest(() => true));
          const one: Remembered = { keyId, bytes, forget };
          remembered.add(one);
          rememberedBytes += bytes;
          add(keyId, bytes);
          return () => giveBack(one);
        },
        end: () => {
          hasEnded = true;
          set(0);
        },
      };
    },
  };
}

const RETRY_AFTER_SECONDS = 2;

const tooMuchOfKey = (): GatewayError =>
  new GatewayError('overloaded', {
    message: {
      openai:
        'The WebSockets of your key have reached their memory limit. Wait for responses to end, or send less at a time.',
      anthropic: 'Overloaded',
    },
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
