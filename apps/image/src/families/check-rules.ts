import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageEditRequest } from '@gateway/contracts/openai/images';
import { characterCount } from '@gateway/contracts/wire-types';
import { listed } from '@gateway/service-kit/request/validate';
import { ANY_SIZE, type ImageRules, isAnySize } from './image-rules.ts';

type Request = ImageEditRequest;
type Check = (request: Request, rules: ImageRules) => void;

/** A value is shown back only as far as a person needs it. */
const MAX_SHOWN = 64;

const refuse = (code: ErrorCode, member: string, message: string): GatewayError =>
  new GatewayError(code, { path: [member], message });

const notOneOf = (member: string, value: string, values: readonly string[], more = ''): GatewayError => {
  const supported = listed(
    values.map((one) => `'${one}'`),
    'and',
    ',',
  );
  return refuse(
    'invalid_value',
    member,
    `Invalid value: '${value.slice(0, MAX_SHOWN)}'. Supported values are: ${supported}${more}.`,
  );
};

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const promptLength: Check = ({ prompt }, { promptMaxCharacters: max }) => {
  if (max === null || prompt.length <= max) return;
  const count = characterCount(prompt);
  if (count <= max) return;
  throw refuse(
    'string_above_max_length',
    'prompt',
    `Invalid 'prompt': string too long. Expected a string with maximum length ${max}, but got a string with length ${count} instead.`,
  );
};

const count: Check = ({ n }, { maxImages: max }) => {
  if (!n || max === null || n <= max) return;
  if (max === 1)
    throw refuse('invalid_value', 'n', 'Invalid value for n: this model makes one image at a time. Use n=1.');
  throw refuse(
    'integer_above_max_value',
    'n',
    `Invalid 'n': integer above maximum value. Expected a value <= ${max}, but got ${n} instead.`,
  );
};

const size: Check = ({ size: requested }, { sizes, takesAnySize }) => {
  if (!isGiven(requested) || sizes === null || sizes.includes(requested ?? '')) return;
  if (takesAnySize && isAnySize(requested ?? '')) return;
  const { divisibleBy, maxRatio, longestSide, shortestSide } = ANY_SIZE;
  const any = `; and any WIDTHxHEIGHT with both sides divisible by ${divisibleBy}, a ratio of at most ${maxRatio}:1 and at most ${longestSide}x${shortestSide}`;
  throw notOneOf('size', requested ?? '', sizes, takesAnySize ? any : '');
};

const membersOfOthers: Check = (request, { refused }) => {
  const member = refused.find((name) => isGiven(request[name]));
  if (member !== undefined)
    throw refuse('unknown_parameter', member, `Unknown parameter: '${member}'. This model does not have it.`);
};

const values: Check = (request, { values: lists }) => {
  for (const [member, list] of Object.entries(lists)) {
    const value = request[member];
    if (typeof value === 'string' && !list.includes(value)) throw notOneOf(member, value, list);
  }
};

const stream: Check = (request, { streams }) => {
  if (request.stream && !streams)
    throw refuse('unknown_parameter', 'stream', "Unknown parameter: 'stream'. This model does not stream.");
  if (request.stream && request.response_format === 'url')
    throw refuse(
      'unsupported_value',
      'response_format',
      "Streamed images are sent as 'b64_json'. Omit response_format, or stream.",
    );
};

const transparency: Check = ({ background, output_format: format }) => {
  if (background === 'transparent' && format === 'jpeg')
    throw refuse(
      'invalid_value',
      'background',
      "A transparent background needs the output_format 'png' or 'webp'.",
    );
};

const compression: Check = ({ output_compression: level, output_format: format }) => {
  if (typeof level === 'number' && level < 100 && (format ?? 'png') === 'png')
    throw refuse(
      'invalid_value',
      'output_compression',
      "Compression less than 100 needs the output_format 'jpeg' or 'webp'.",
    );
};

const overlays: Check = ({ mask, markup }) => {
  if (isGiven(mask) && isGiven(markup))
    throw refuse(
      'mutually_exclusive_parameters',
      'markup',
      "An edit takes either 'mask' or 'markup', not both.",
    );
};

const CHECKS: readonly Check[] = [
  promptLength,
  count,
  size,
  membersOfOthers,
  values,
  stream,
  transparency,
  compression,
  overlays,
];

/**
 * Holds a request to the rules of its model's family.
 *
 * @throws {GatewayError} for the first rule that is broken, naming the member
 */
export function checkRules(request: Request, rules: ImageRules): void {
  for (const check of CHECKS) check(request, rules);
}
