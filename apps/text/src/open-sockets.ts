import { WEBSOCKET } from '@gateway/contracts/endpoints/endpoints';
import { reportOnce } from '@gateway/metering/broken-records';
import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyCache } from '@gateway/metering/keys/key-cache';
import type { RequestEntry } from '@gateway/metering/limits/request-entry';
import type { Refusals } from '@gateway/metering/usage/refusals';
import { createCallerAccess } from '@gateway/model-service/sockets/caller-access';
import { createSocketMemory } from '@gateway/model-service/sockets/socket-memory';
import type { RefusalReason } from '@gateway/service-kit/metrics';
import type { ServiceAppOptions } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import type { Redis } from 'ioredis';
import type { TextServices } from './call/request/text-call.ts';
import type { TextSettings } from './config.ts';
import { createSockets, type Sockets } from './sockets/accept-sockets.ts';
import { createRequestRunner } from './sockets/run-create.ts';

/** What its requests have in common with those over HTTP. */
interface SocketsAccess extends Pick<ServiceAppOptions, 'requestLog' | 'load' | 'tracing'> {
  readonly services: TextServices;
  readonly redis: Redis;
  readonly entry: RequestEntry;
  readonly refusals: Refusals<RefusalReason>;
}

type SocketSettings = Pick<
  TextSettings,
  | 'GATEWAY_SECRET'
  | 'TEXT_WEBSOCKET_PING_MS'
  | 'TEXT_WEBSOCKET_IDLE_MS'
  | 'TEXT_WEBSOCKET_LIFE_MS'
  | 'TEXT_WEBSOCKET_MESSAGE_MS'
>;

type Opened = Pick<Started<TextSettings>, 'logger' | 'metrics'> & {
  readonly config: SocketSettings;
  readonly life: Pick<Started<TextSettings>['life'], 'own' | 'stopping' | 'deadline'>;
};

/** Shares of the bytes that a process takes on: of the WebSockets of one key, and of all that is remembered. */
const [KEY_SHARE, REMEMBERED_SHARE] = [0.25, 0.5];

/** Opens the WebSockets of the text service; the process's life closes them. */
export function openSockets(
  { config, life, logger, metrics }: Opened,
  { services, redis, entry, refusals, requestLog, load, tracing }: SocketsAccess,
): Sockets {
  const { now } = services;
  const onBroken = reportOnce((broken) => {
    logger.warn(broken, 'skipping a stored record that cannot be read');
    metrics.brokenRecord(broken.kind);
  });
  const keys = createKeyFinder({ redis, gatewaySecret: config.GATEWAY_SECRET, now, onBroken });
  const access = createCallerAccess({
    endpoint: WEBSOCKET,
    keys: createKeyCache({ findKey: keys.findKeyByHash, now, uptime: () => performance.now() }),
    refusals,
  });
  return life.own(
    createSockets({
      runner: createRequestRunner({
        // The pings of a WebSocket keep it alive.
        services: { ...services, keepAliveMs: 0 },
        access,
        counting: { entry, refusals },
        requestLog,
        load,
        tracing,
        deadline: life.deadline,
      }),
      limits: {
        maxFrameBytes: services.maxBodyBytes,
        maxJsonDepth: services.maxJsonDepth,
        maxRememberedBytes: () => services.upstream.configuration.conversations.maxChainBytes,
        idleMs: config.TEXT_WEBSOCKET_IDLE_MS,
        lifeMs: config.TEXT_WEBSOCKET_LIFE_MS,
        messageMs: config.TEXT_WEBSOCKET_MESSAGE_MS,
      },
      socketMemory: createSocketMemory({
        endpoint: WEBSOCKET,
        guard: load,
        maxKeyBytes: Math.max(load.maxBodyBytes * KEY_SHARE, services.maxBodyBytes),
        maxRememberedBytes: load.maxBodyBytes * REMEMBERED_SHARE,
      }),
      pingMs: config.TEXT_WEBSOCKET_PING_MS,
      now: () => performance.now(),
      stopping: life.stopping,
      onOpened: services.metrics.socketOpened,
      onClosed: (closed) => {
        services.metrics.socketClosed(closed.reason);
        logger.info(closed, 'websocket closed');
      },
    }),
    (opened) => opened.close(),
  );
}
