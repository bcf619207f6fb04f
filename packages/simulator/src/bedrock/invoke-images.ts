import { readJson } from '../checks/read-json.ts';
import { draw } from '../images/drawing/draw.ts';
import { asList, asNumber, asObject, asText, type JsonObject } from '../json-value.ts';
import { jsonReply, type Reply } from '../replies/reply.ts';
import type { Call } from '../requests/call.ts';
import { withoutDirectives } from '../script/directives.ts';
import { invalidConverse } from './check-request.ts';
import { oneOf, refuseOthers } from './check-schema.ts';

const FORBIDDEN = /\bforbidden words\b/i;
const BASE64 = /^[A-Za-z0-9+/]+=*$/;
/** So small that tests stay quick; in the requested ratio. */
const SIDE = 64;

const malformed = (message: string) => invalidConverse(`Malformed input request: ${message}`);

function drawn(text: string, width: number, height: number, format: 'png' | 'jpeg' = 'png'): string {
  const scale = SIDE / Math.max(width, height);
  const side = (length: number) => Math.max(1, Math.round(length * scale));
  const picture = { width: side(width), height: side(height), format, isTransparent: false };
  return draw({ text: withoutDirectives(text), ...picture }).toString('base64');
}

function images(value: unknown, most: number): void {
  const all = asList(value);
  if (all.length < 1 || all.length > most) throw malformed(`#/images: expected 1 to ${most} images`);
  if (all.some((one) => !BASE64.test(asText(one)))) throw malformed('#/images: expected base64');
}

function prompt(value: unknown, most: number): string {
  const text = asText(value);
  if (text === '' || text.length > most)
    throw malformed(`#/text: expected 1 to ${most} characters, actual: ${text.length}`);
  return text;
}

const PARAMS = { TEXT_IMAGE: 'textToImageParams', IMAGE_VARIATION: 'imageVariationParams' } as const;

/** Nova Canvas. All of its images may be filtered: a 200 that says why. */
function amazon(body: JsonObject, model: string): Reply {
  const task = body.taskType === 'IMAGE_VARIATION' ? 'IMAGE_VARIATION' : 'TEXT_IMAGE';
  refuseOthers(body, ['taskType', PARAMS[task], 'imageGenerationConfig']);
  oneOf(body.taskType ?? null, Object.keys(PARAMS), 'taskType');
  const params = asObject(body[PARAMS[task]]);
  const ofVariation = task === 'IMAGE_VARIATION';
  refuseOthers(params, [
    'text',
    'negativeText',
    ...(ofVariation ? ['images', 'similarityStrength'] : ['style']),
  ]);
  const text = prompt(params.text, 1024);
  if (ofVariation) images(params.images, 5);
  const config = asObject(body.imageGenerationConfig);
  refuseOthers(config, ['numberOfImages', 'width', 'height', 'quality', 'seed', 'cfgScale']);
  oneOf(config.quality, ['standard', 'premium'], 'quality');
  const count = asNumber(config.numberOfImages) ?? 1;
  if (count < 1 || count > 5) throw malformed('#/numberOfImages: expected 1 to 5');
  const width = asNumber(config.width) ?? 1024;
  const height = asNumber(config.height) ?? 1024;
  if ([width, height].some((side) => side % 16 !== 0 || side < 320 || side > 4096))
    throw invalidConverse('Width and height must be multiples of 16 between 320 and 4096.');
  if (width * height > 4_194_304 || Math.max(width, height) > 4 * Math.min(width, height))
    throw invalidConverse('The requested size has too many pixels, or its ratio is above 4:1.');
  if (FORBIDDEN.test(text))
    return jsonReply({
      images: [],
      error: 'The generated image(s) has been blocked by our content filters.',
    });
  const made = Array.from({ length: count }, (_, at) => drawn(`${text} ${at}`, width, height));
  return jsonReply({ images: made }, { model, images: count });
}

const RATIOS = ['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'];

function stability(body: JsonObject, model: string): Reply {
  const edits = body.mode === 'image-to-image';
  refuseOthers(body, [
    ...['prompt', 'mode', 'negative_prompt', 'seed', 'output_format'],
    ...(edits ? ['image', 'strength'] : ['aspect_ratio']),
  ]);
  oneOf(body.mode, ['text-to-image', ...(model.includes('image-core') ? [] : ['image-to-image'])], 'mode');
  oneOf(body.aspect_ratio, RATIOS, 'aspect_ratio');
  oneOf(body.output_format, ['png', 'jpeg'], 'output_format');
  const text = prompt(body.prompt, 10_000);
  if (edits) {
    images([body.image], 1);
    const strength = asNumber(body.strength) ?? -1;
    if (strength < 0 || strength > 1) throw malformed('#: required key [strength] not found');
  }
  if (FORBIDDEN.test(text)) return jsonReply({ finish_reasons: ['Filter reason: prompt'] });
  const [width = 1, height = 1] = (asText(body.aspect_ratio) || '1:1').split(':').map(Number);
  const format = body.output_format === 'jpeg' ? 'jpeg' : 'png';
  const image = drawn(text, width, height, format);
  return jsonReply({ seeds: [1], finish_reasons: [null], images: [image] }, { model, images: 1 });
}

/** The images of a call whose model makes them by a body of its maker's; null: another model. */
export function invokeImages(call: Call): Reply | null {
  const model = decodeURIComponent(call.params[0] ?? '');
  const isStability = /stability\./.test(model);
  if (!isStability && !/amazon\.(?:nova-canvas|titan-image)/.test(model)) return null;
  const body = readJson(call);
  const { textToImageParams, imageVariationParams, prompt: said } = body;
  const { text } = asObject(textToImageParams ?? imageVariationParams);
  call.applyDirectives(asText(text ?? said), model);
  return isStability ? stability(body, model) : amazon(body, model);
}
