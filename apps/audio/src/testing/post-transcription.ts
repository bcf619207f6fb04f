import type { TestAudio } from './start-audio.ts';

export const TRANSCRIPTIONS_PATH = '/v1/audio/transcriptions';

/** Requests a transcript with these parts of the form, in their order. */
export function postTranscription(
  audio: TestAudio,
  parts: readonly (readonly [string, string | File])[],
  init: RequestInit = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  return fetch(`${audio.url}${TRANSCRIPTIONS_PATH}`, {
    method: 'POST',
    body: form,
    headers: audio.headersFor(),
    ...init,
  });
}
