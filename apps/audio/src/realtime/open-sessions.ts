import { REALTIME } from '@gateway/contracts/endpoints/endpoints';
import { reportOnce } from '@gateway/metering/broken-records';
import type { ClientSecrets } from '@gateway/metering/keys/client-secret';
import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyCache } from '@gateway/metering/keys/key-cache';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import type { ModelAccess } from '@gateway/model-service/open-model-access';
import { createCallerAccess } from '@gateway/model-service/sockets/caller-access';
import { createSocketMemory } from '@gateway/model-service/sockets/socket-memory';
import type { ServiceAppOptions } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import type { AudioSettings } from '../config.ts';
import { createSessions, type Sessions } from './accept-sessions.ts';
import { createRealtimeMetrics } from './realtime-metrics.ts';

type RealtimeSettings = Pick<
  AudioSettings,
  | 'GATEWAY_SECRET'
  | 'MAX_JSON_DEPTH'
  | 'AUDIO_REALTIME_MAX_SESSIONS'
  | 'AUDIO_REALTIME_MAX_SESSIONS_PER_KEY'
  | 'AUDIO_REALTIME_MAX_EVENT_BYTES'
  | 'AUDIO_REALTIME_LIFE_MS'
  | 'AUDIO_REALTIME_IDLE_MS'
  | 'AUDIO_REALTIME_PING_MS'
  | 'AUDIO_REALTIME_SETTLE_MS'
>;

export type RealtimeStarted = Pick<Started<AudioSettings>, 'logger' | 'metrics'> & {
  readonly config: RealtimeSettings;
  readonly life: Pick<Started<AudioSettings>['life'], 'own' | 'stopping' | 'deadline'>;
};

export interface RealtimeAccess
  extends Pick<ModelAccess, 'upstream' | 'redis' | 'meter' | 'entry' | 'refusals'>,
    Pick<ServiceAppOptions, 'requestLog' | 'load'> {
  readonly clientSecrets: ClientSecrets;
  readonly contentLog: ContentLog;
}

/** Of the bytes that a process takes on, the share that the sessions of one key may hold. */
const KEY_SHARE = 0.25;

/** Opens what realtime sessions need; the process's life closes it. */
export function openSessions(
  { config, life, logger, metrics }: RealtimeStarted,
  { redis, entry, refusals, load, ...access }: RealtimeAccess,
): Sessions {
  const now = Date.now;
  const uptime = () => performance.now();
  const onBroken = reportOnce((broken) => {
    logger.warn(broken, 'skipping a stored record that cannot be read');
    metrics.brokenRecord(broken.kind);
  });
  const keys = createKeyFinder({ redis, gatewaySecret: config.GATEWAY_SECRET, now, onBroken });
  const maxEventBytes = config.AUDIO_REALTIME_MAX_EVENT_BYTES;
  return life.own(
    createSessions({
      ...access,
      ...{ load, maxEventBytes, uptime, now, deadline: life.deadline, stopping: life.stopping },
      maxJsonDepth: config.MAX_JSON_DEPTH,
      counting: { entry, refusals },
      access: createCallerAccess({
        endpoint: REALTIME,
        keys: createKeyCache({ findKey: keys.findKeyByHash, now, uptime }),
        refusals,
      }),
      limits: {
        maxSessions: config.AUDIO_REALTIME_MAX_SESSIONS,
        maxSessionsPerKey: config.AUDIO_REALTIME_MAX_SESSIONS_PER_KEY,
        pingMs: config.AUDIO_REALTIME_PING_MS,
        idleMs: config.AUDIO_REALTIME_IDLE_MS,
        lifeMs: config.AUDIO_REALTIME_LIFE_MS,
        settleMs: config.AUDIO_REALTIME_SETTLE_MS,
      },
      socketMemory: createSocketMemory({
        endpoint: REALTIME,
        guard: load,
        maxKeyBytes: Math.max(load.maxBodyBytes * KEY_SHARE, 2 * maxEventBytes),
        maxRememberedBytes: 0,
      }),
      metrics: createRealtimeMetrics(metrics),
      onClosed: (line) => logger.info(line, 'realtime session closed'),
    }),
    (opened) => opened.close(),
  );
}
