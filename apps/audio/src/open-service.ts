import { REALTIME } from '@gateway/contracts/endpoints/endpoints';
import { openTextChecks } from '@gateway/hooks/text-checks';
import { createClientSecrets } from '@gateway/metering/keys/client-secret';
import {
  batchProcessors,
  openBatchRunner,
  openIdentityReader,
} from '@gateway/model-service/batch/open-batch-runner';
import { openContentLog } from '@gateway/model-service/content-log/open-content-log';
import { createJobMetrics } from '@gateway/model-service/jobs/job-metrics';
import { openJobQueue } from '@gateway/model-service/jobs/open-job-queue';
import { openModelAccess } from '@gateway/model-service/open-model-access';
import { serviceAppOptions } from '@gateway/model-service/service-app-options';
import { type AcceptSocket, serveHandshakes } from '@gateway/service-kit/request/handshake';
import type { Service } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import { createAudioService } from './app.ts';
import { audioBatches } from './audio-batches.ts';
import type { AudioService } from './audio-service.ts';
import type { AudioSettings } from './config.ts';
import type { RealtimeAccess } from './realtime/open-sessions.ts';

/** The audio service, and what takes its WebSockets. */
export interface OpenedAudioService extends Service {
  readonly acceptSocket: AcceptSocket;
  /** For its server in a process of its own. */
  readonly handshakes: ReturnType<typeof serveHandshakes>;
}

/** Opens the audio service; the process's life closes what it takes. */
export async function openAudioService(started: Started<AudioSettings>): Promise<OpenedAudioService> {
  const { config } = started;
  const clientSecrets = createClientSecrets({ gatewaySecret: config.GATEWAY_SECRET, now: Date.now });
  const access = await openModelAccess(started);
  const jobs = await openJobQueue(started, access, ['audio.transcription', 'audio.speech', 'audio.batch']);
  const service: AudioService = {
    ...access,
    ...jobs,
    checks: openTextChecks(started, access, 'speech'),
    contentLog: openContentLog(started, access),
    jsonMaxBytes: config.JSON_MAX_BYTES,
    keepAliveMs: config.AUDIO_KEEP_ALIVE_MS,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    fileMaxBytes: config.AUDIO_FILE_MAX_BYTES,
    jobMetrics: createJobMetrics(started.metrics),
    clientSecrets,
    readIdentity: openIdentityReader(started, access),
    now: Date.now,
  };
  await openBatchRunner(started, service, batchProcessors(audioBatches(service)));
  const appOptions = serviceAppOptions(started, access);
  const acceptSocket = acceptLazily(started, {
    ...{ ...access, ...appOptions, clientSecrets },
    contentLog: service.contentLog,
  });
  const { verifyIdentity } = appOptions;
  return {
    ...createAudioService({ ...appOptions, ...service }),
    acceptSocket,
    handshakes: serveHandshakes({ path: REALTIME.path, verifyIdentity, accept: acceptSocket }),
  };
}

/** Most processes never have a realtime session: what it needs is loaded with the first. */
function acceptLazily(started: Started<AudioSettings>, access: RealtimeAccess): AcceptSocket {
  let opening: Promise<AcceptSocket> | undefined;
  const open = async () => {
    const { openSessions } = await import('./realtime/open-sessions.ts');
    return openSessions(started, access).acceptSocket;
  };
  return (handshake, arrival) => {
    opening ??= open();
    const { socket } = handshake;
    socket.on('error', () => socket.destroy());
    opening.then(
      (accept) => accept(handshake, arrival),
      (error: unknown) => {
        started.logger.error({ err: error }, 'realtime sessions cannot be opened');
        socket.destroy();
      },
    );
  };
}
