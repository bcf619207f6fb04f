import { expect, test } from 'vitest';
import { usageOfTranscription } from './transcription-usage.ts';

const usageOf = (reported: Record<string, unknown> | null) =>
  usageOfTranscription({
    price: { inputPerMTok: 1, outputPerMTok: 1, perMinute: 0.006 },
    recording: {
      file: { uploadId: 'upload_1', fileName: 'a.mp3', sizeBytes: 100_000, contentType: 'audio/mpeg' },
      fields: [],
      durationSeconds: 20,
    },
    reported,
    durationSeconds: 20,
    channel: 'one',
    attempts: 1,
    detail: {},
  });

const ESTIMATE = { audioMs: 20_000, inputTokens: 200, outputTokens: 200 };

test.for([
  [null, ESTIMATE, true],
  [{ type: 'duration', seconds: 0 }, ESTIMATE, true],
  [{ type: 'duration', seconds: -3 }, ESTIMATE, true],
  [{ type: 'duration', seconds: 12.2 }, { ...ESTIMATE, audioMs: 13_000 }, true],
  [{ type: 'tokens', input_tokens: 0, output_tokens: 0 }, ESTIMATE, true],
  [{ type: 'tokens', input_tokens: -1, output_tokens: 'x' }, ESTIMATE, true],
  [
    { type: 'tokens', input_tokens: 150.5, output_tokens: 30 },
    { audioMs: 20_000, inputTokens: 151, outputTokens: 30 },
    false,
  ],
  [
    { prompt_audio_seconds: 15, prompt_tokens: 4, completion_tokens: 30, total_tokens: 200 },
    { audioMs: 15_000, inputTokens: 4, outputTokens: 30 },
    false,
  ],
] as const)('a transcription that reports %j used what can be true of it', ([reported, used, estimated]) => {
  expect(usageOf(reported)).toMatchObject({ consumption: used, estimated });
});
