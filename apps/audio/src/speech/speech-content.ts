import type { SpeechInput, SpeechOutput } from '@gateway/contracts/jobs';
import type { JobContent } from '@gateway/model-service/content-log/job-content';

/** What was heard, for the content log: its sound is not in it. */
const heardAudio = ({ contentType, sizeBytes }: Pick<SpeechOutput, 'contentType' | 'sizeBytes'>) => ({
  content_type: contentType,
  bytes: sizeBytes,
});

/** What the content log has of speech that a worker makes: its audio lies in the asset store for a day. */
export const SPEECH_CONTENT: JobContent<SpeechInput, SpeechOutput> = {
  endpoint: 'speech',
  request: ({ model, parameters }) => ({ ...parameters, model }),
  answer: ({ assetId, ...audio }) => ({ asset_id: assetId, ...heardAudio(audio) }),
};
