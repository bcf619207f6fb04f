import { GatewayError } from '@gateway/contracts/gateway-error';
import { DEFAULT_SPEECH_FORMAT, SpeechFormat } from '@gateway/contracts/openai/speech';
import { type ImageAbilities, imageAbilities, type Library, type SpeechAbilities } from './library.ts';
import { type MediaRequest, voiceOf } from './media-request.ts';
import { ratioOf } from './ratio.ts';

/** What becomes of a request at a provider that carries less than the protocol. */
export interface Fit {
  /** Why it cannot be called at all; null: it can. */
  readonly refusal: GatewayError | null;
  /** Members that the provider does not have. */
  readonly dropped: readonly string[];
}

/** Members that every provider has in some way, or that tell the gateway how to answer. */
const CARRIED: Readonly<Record<'images' | 'speech' | 'transcriptions', readonly string[]>> = {
  images: ['model', 'prompt', 'n', 'size', 'response_format', 'stream', 'partial_images'],
  speech: ['model', 'input', 'voice', 'response_format', 'stream_format'],
  transcriptions: ['model', 'response_format', 'stream', 'timestamp_granularities'],
};

/** Values that leave the choice to the provider, so that nothing is lost with them. */
const isNoChoice = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || value === 'auto';

const NO_IMAGES = 'The upstream of this model';

/**
 * Whether a provider's library can serve this, and what would be left out.
 *
 * @param model the model's name at the channel, which the caller may have chosen
 */
export function fitOf(library: Library, request: MediaRequest, model: string): Fit {
  const kind = kindOf(request);
  const images = kind === 'images' ? imageAbilities(library, model) : undefined;
  const abilities = images ?? library[kind];
  if (abilities === undefined) throw new Error(`no ${kind} in this library`);
  const { members, strict } = request;
  const known: readonly string[] = [...CARRIED[kind], ...abilities.takes];
  const dropped = Object.keys(members).filter((name) => !known.includes(name) && !isNoChoice(members[name]));
  if (images !== undefined && losesSize(images, members.size)) dropped.push('size');
  const [first] = dropped;
  const refusal =
    refusedName(model, 'model') ??
    (images ? refusedImages(images, request) : null) ??
    (kind === 'speech' && library.speech ? refusedSpeech(library.speech, request) : null) ??
    (strict && first !== undefined ? unsupported([first], `'${first}' is not available`) : null);
  return { refusal, dropped };
}

export const kindOf = ({ operation }: Pick<MediaRequest, 'operation'>) => {
  if (operation === 'speech' || operation === 'transcriptions') return operation;
  return 'images';
};

/**
 * Libraries put names of models and voices into paths as they are: one that leads elsewhere would be a request of the
 * caller's choice under the channel's key.
 */
function refusedName(name: string, member: 'model' | 'voice'): GatewayError | null {
  const steps = member === 'model' ? name.split('/') : [name];
  if (steps.every((step) => STEP.test(step) && !/^\.+$/.test(step))) return null;
  return new GatewayError('invalid_value', {
    path: [member],
    message: `Invalid value for '${member}': a name has letters, digits, '.', '_', ':', '@' and '-' only.`,
  });
}

const STEP = /^[\w.:@-]{1,200}$/;

const losesSize = ({ sizes, ratios }: ImageAbilities, size: unknown): boolean =>
  !sizes && !isNoChoice(size) && !(ratios && ratioOf(size, ratios)?.isExact);

function refusedImages(
  { maxInputImages, masks }: ImageAbilities,
  { operation, files }: MediaRequest,
): GatewayError | null {
  if (operation !== 'images.edits') return null;
  const has = (part: string) => files.some(({ name }) => name === part);
  if (has('markup')) return unsupported(['markup'], "'markup' is not available");
  const images = files.filter(({ name }) => name !== 'mask').length;
  if (images > maxInputImages)
    return new GatewayError('array_above_max_length', {
      path: ['image'],
      message: `${NO_IMAGES} takes at most ${maxInputImages} images to edit.`,
    });
  if (has('mask') && !masks) return unsupported(['mask'], "'mask' is not available");
  return null;
}

function refusedSpeech({ formats }: SpeechAbilities, { members }: MediaRequest): GatewayError | null {
  const voice = refusedName(voiceOf(members), 'voice');
  if (voice !== null) return voice;
  const format = SpeechFormat.catch(DEFAULT_SPEECH_FORMAT).parse(members.response_format);
  if (formats[format] !== undefined) return null;
  const names = Object.keys(formats)
    .map((name) => `'${name}'`)
    .join(', ');
  return new GatewayError('unsupported_value', {
    path: ['response_format'],
    message: `response_format '${format}' is not available with the upstream of this model. Use one of ${names} instead.`,
  });
}

const unsupported = (path: string[], what: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path,
    message: `Unsupported parameter: ${what} with the upstream of this model.`,
  });
