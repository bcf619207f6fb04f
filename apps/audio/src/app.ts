import type { AssetStore } from '@gateway/assets/asset-store';
import type { JobQueue } from '@gateway/jobs/job-queue';
import type { UploadStore } from '@gateway/jobs/upload-store';
import type { Meter } from '@gateway/metering/meter/meter';
import { createService, type Service, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import type { Upstream } from '@gateway/upstream/upstream';
import type { AudioJobKind } from './audio-acts.ts';
import { audioJobHandlers } from './audio-job-handlers.ts';
import { speechHandler } from './speech/speech-handler.ts';
import { transcriptionsHandler } from './transcriptions/transcriptions-handler.ts';

interface AudioAppOptions extends Omit<ServiceAppOptions, 'service' | 'handlers'> {
  readonly upstream: Upstream;
  readonly queue: JobQueue<AudioJobKind>;
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
  readonly meter: Meter;
  readonly jsonMaxBytes: number;
  readonly maxJsonDepth: number;
  readonly fileMaxBytes: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The audio service: speech is streamed straight through, transcriptions go through the queue. */
export const createAudioService = (options: AudioAppOptions): Service =>
  createService({
    ...options,
    service: 'audio',
    handlers: {
      'POST /v1/audio/speech': speechHandler(options),
      'POST /v1/audio/transcriptions': transcriptionsHandler(options),
      ...audioJobHandlers(options),
    },
  });
