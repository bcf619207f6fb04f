import type { AssetStore } from '@gateway/assets/asset-store';
import { openTextChecks, type TextChecks } from '@gateway/hooks/text-checks';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { JobProcessors } from '@gateway/jobs/worker/job-processor';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import { openContentLog } from '@gateway/model-service/content-log/open-content-log';
import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { Started } from '@gateway/service-kit/start-service';
import type { Upstream } from '@gateway/upstream/upstream';
import { z } from 'zod';
import type { AudioWorkerSettings } from './config.ts';
import { speak } from './speech/speak.ts';
import type { LongAudio } from './transcriptions/long-audio/transcribe-parts.ts';
import { transcribe } from './transcriptions/transcribe.ts';

/** The fields of an output in the log line, be it a transcript or speech. */
const LoggedOutput = z
  .object({
    channel: z.string(),
    durationSeconds: z.number().nullable(),
    characters: z.number(),
    parts: z.number().nullable(),
  })
  .partial()
  .catch({});

/** Opens the worker that transcribes, and speaks for callers who come back. */
export const openAudioWorker = (started: Started<AudioWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    processors: (access) =>
      audioProcessors({
        ...access,
        checks: openTextChecks(started, access, 'transcriptions'),
        contentLog: openContentLog(started, access),
        longAudio: longAudioOf(started),
      }),
    outputFields: (output) => {
      const { channel, durationSeconds, characters, parts } = LoggedOutput.parse(output);
      return { channel, audioSeconds: durationSeconds, characters, parts };
    },
  });

const longAudioOf = ({ config, env }: Started<AudioWorkerSettings>): LongAudio => ({
  ffmpeg: { program: config.FFMPEG_PATH, searchPath: env.PATH ?? '' },
  maxSeconds: config.AUDIO_SPLIT_MAX_SECONDS,
  partsAtOnce: config.AUDIO_PARTS_AT_ONCE,
});

interface AudioMaker {
  readonly upstream: Upstream;
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
  readonly longAudio: LongAudio;
  readonly checks: TextChecks;
  readonly contentLog: ContentLog;
}

/** What an audio worker does. */
export const audioProcessors = (maker: AudioMaker): JobProcessors => ({
  'audio.transcription': transcribe(maker),
  'audio.speech': speak(maker),
});
