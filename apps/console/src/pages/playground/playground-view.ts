import type { ShownRequest } from '../../api/types.ts';
import type { PlaygroundSearch } from './playground-search.ts';

/** Which form sends a request of an endpoint. */
const FORMS: Readonly<Record<string, Pick<PlaygroundSearch, 'family' | 'protocol'>>> = {
  responses: { family: 'text', protocol: 'responses' },
  messages: { family: 'text', protocol: 'messages' },
  chat: { family: 'text', protocol: 'chat' },
  images: { family: 'images' },
  speech: { family: 'speech' },
  transcriptions: { family: 'transcription' },
  realtime: { family: 'voice' },
};

/** The view of the playground that sends such a request again; undefined where it has none. */
export function playgroundViewOf(request: ShownRequest): PlaygroundSearch | undefined {
  const { endpoint, keyId, model, isStreamed } = request;
  const form = FORMS[endpoint];
  return (
    form && {
      ...form,
      ...{ key: keyId, models: [model], from: request.requestId ?? request.id },
      ...(form.family !== 'text' && isStreamed && { stream: true }),
    }
  );
}
