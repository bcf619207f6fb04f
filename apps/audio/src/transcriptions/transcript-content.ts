import type { TranscriptionInput, TranscriptionOutput } from '@gateway/contracts/jobs';
import { jsonIn } from '@gateway/contracts/json/json-object';
import type { JobContent } from '@gateway/model-service/content-log/job-content';

/** What the content log has of a transcript: the form without its recording, and the answer as its caller got it. */
export const TRANSCRIPT_CONTENT: JobContent<TranscriptionInput, TranscriptionOutput> = {
  endpoint: 'transcriptions',
  request: ({ model, fields, responseFormat, stream, file, durationSeconds }) => ({
    model,
    ...Object.fromEntries(fields),
    response_format: responseFormat,
    ...(stream && { stream }),
    file: { file_name: file.fileName, content_type: file.contentType, bytes: file.sizeBytes },
    ...(durationSeconds !== null && { seconds: durationSeconds }),
  }),
  answer: ({ body, contentType }) => (contentType.includes('json') ? (jsonIn(body) ?? body) : body),
};
