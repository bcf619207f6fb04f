import { createService, type Service, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import { audioJobHandlers } from './audio-job-handlers.ts';
import type { AudioService } from './audio-service.ts';
import { speechHandler } from './speech/speech-handler.ts';
import { transcriptionsHandler } from './transcriptions/transcriptions-handler.ts';

interface AudioAppOptions extends Omit<ServiceAppOptions, 'service' | 'handlers'>, AudioService {}

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
