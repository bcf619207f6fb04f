import { batchHandler } from '@gateway/model-service/batch/batch-handler';
import { batchResults } from '@gateway/model-service/batch/batch-results';
import { jobHandlers } from '@gateway/model-service/jobs/job-handlers';
import type { Handler } from '@gateway/service-kit/request/handler';
import { contextOf } from '@gateway/service-kit/request/request-context';
import { createService, type Service, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import { audioBatches } from './audio-batches.ts';
import type { AudioService } from './audio-service.ts';
import { clientSecretsHandler } from './realtime/client-secrets-handler.ts';
import { writeSpeech } from './speech/answer-job.ts';
import { speechHandler } from './speech/speech-handler.ts';
import { writeTranscript } from './transcriptions/answer-job.ts';
import { transcriptionsHandler } from './transcriptions/transcriptions-handler.ts';

interface AudioAppOptions extends Omit<ServiceAppOptions, 'service' | 'handlers'>, AudioService {}

/** The audio service: speech is streamed straight through, transcriptions go through the queue. */
export const createAudioService = (options: AudioAppOptions): Service =>
  createService({
    ...options,
    service: 'audio',
    handlers: {
      'POST /v1/audio/speech': speechHandler(options),
      'POST /v1/audio/transcriptions': transcriptionsHandler(options, 'transcriptions'),
      'POST /v1/audio/translations': transcriptionsHandler(options, 'translations'),
      'POST /v1/realtime/client_secrets': clientSecretsHandler(options),
      ...audioJobHandlers(options),
    },
  });

/** `/v1/audio/jobs…` */
function audioJobHandlers(service: AudioService): Readonly<Record<string, Handler>> {
  const { queue, assets, now } = service;
  const batches = audioBatches(service);
  const handlers = jobHandlers({
    area: 'audio',
    queue,
    now,
    batches: batchResults(batches),
    writers: {
      'audio.transcription': (output, request, response) =>
        writeTranscript(output, response, contextOf(request)),
      'audio.speech': (output, request, response) => writeSpeech(assets, output, request, response),
    },
  });
  return { ...handlers, 'POST /v1/audio/jobs': batchHandler(batches) };
}
