import { TranscriptionOutput } from '@gateway/contracts/jobs';
import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { Started } from '@gateway/service-kit/start-service';
import type { AudioWorkerConfig } from './config.ts';
import { transcribe } from './transcriptions/transcribe.ts';

/** Opens the worker that transcribes. */
export const openAudioWorker = (started: Started<AudioWorkerConfig>): Promise<void> =>
  openJobWorker(started, {
    acts: (access) => ({ 'audio.transcription': transcribe(access) }),
    outputFields: (output) => {
      const { channel, durationSeconds, upstreamAttempts } = TranscriptionOutput.partial()
        .catch({})
        .parse(output);
      return { channel, audioSeconds: durationSeconds, upstreamAttempts };
    },
  });
