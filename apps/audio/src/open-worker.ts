import { TranscriptionOutput } from '@gateway/contracts/jobs';
import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { Started } from '@gateway/service-kit/start-service';
import type { AudioWorkerSettings } from './config.ts';
import type { LongAudio } from './transcriptions/long-audio/transcribe-parts.ts';
import { transcribe } from './transcriptions/transcribe.ts';

/** Opens the worker that transcribes. */
export const openAudioWorker = (started: Started<AudioWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    acts: (access) => ({
      'audio.transcription': transcribe({ ...access, longAudio: longAudioOf(started) }),
    }),
    outputFields: (output) => {
      const { channel, durationSeconds, upstreamAttempts, parts } = TranscriptionOutput.partial()
        .catch({})
        .parse(output);
      return { channel, audioSeconds: durationSeconds, upstreamAttempts, parts };
    },
  });

const longAudioOf = ({ config, env }: Started<AudioWorkerSettings>): LongAudio => ({
  ffmpeg: { program: config.FFMPEG_PATH, searchPath: env.PATH ?? '' },
  maxSeconds: config.AUDIO_SPLIT_MAX_SECONDS,
  partsAtOnce: config.AUDIO_PARTS_AT_ONCE,
});
