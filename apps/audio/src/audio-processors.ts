import type { AssetStore } from '@gateway/assets/asset-store';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { JobProcessors } from '@gateway/jobs/worker/job-processor';
import type { Upstream } from '@gateway/upstream/upstream';
import { speak } from './speech/speak.ts';
import type { LongAudio } from './transcriptions/long-audio/transcribe-parts.ts';
import { transcribe } from './transcriptions/transcribe.ts';

interface AudioMaker {
  readonly upstream: Upstream;
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
  readonly longAudio: LongAudio;
}

/** What an audio worker does. */
export const audioProcessors = (maker: AudioMaker): JobProcessors => ({
  'audio.transcription': transcribe(maker),
  'audio.speech': speak(maker),
});
