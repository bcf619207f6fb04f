import { ProviderError } from '../replies/provider-error.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';

/** The models that the list shows; every other name is served too. */
const MODEL_IDS = [
  'gpt-5.6-sol',
  'gpt-5.2',
  'gpt-5-mini',
  'gpt-4o-mini',
  'claude-sonnet-5-5',
  'claude-haiku-4-5',
  'dall-e-2',
  'dall-e-3',
  'gpt-image-1',
  'gpt-image-2',
  'tts-1',
  'gpt-4o-mini-tts',
  'whisper-1',
  'gpt-4o-transcribe',
  'gpt-4o-transcribe-diarize',
  'gpt-transcribe',
  'text-embedding-3-small',
  'text-embedding-3-large',
];

const CREATED_SECONDS = 1_760_000_000;

/** One entry that clients of both protocols read. */
const entry = (id: string) => ({
  id,
  object: 'model',
  created: CREATED_SECONDS,
  owned_by: 'simulator',
  type: 'model',
  display_name: id,
  created_at: new Date(CREATED_SECONDS * 1000).toISOString(),
});

/** `GET /v1/models`, in both protocols' shapes at once. */
export const listModels: Handler = () =>
  jsonReply({
    object: 'list',
    data: MODEL_IDS.map(entry),
    has_more: false,
    first_id: MODEL_IDS[0],
    last_id: MODEL_IDS.at(-1),
  });

/** `GET /v1/models/{id}` */
export const getModel: Handler = ({ params: [id = ''] }) => {
  if (isKnownModel(id)) return jsonReply(entry(id));
  throw new ProviderError({
    status: 404,
    message: `The model '${id}' does not exist`,
    code: 'model_not_found',
    param: 'model',
  });
};

const ABSENT_MODEL_PREFIX = 'no-such-';

/** Every model exists here, except those whose names begin with `no-such-`. */
export const isKnownModel = (model: string): boolean => !model.startsWith(ABSENT_MODEL_PREFIX);

/** @throws ProviderError 404 in the words of the media endpoints */
export const checkModelExists = (model: string): void => {
  if (isKnownModel(model)) return;
  throw new ProviderError({
    status: 404,
    message: `The model '${model}' does not exist.`,
    code: 'model_not_found',
    param: 'model',
  });
};
