import { GatewayError } from '@gateway/contracts/gateway-error';
import { openaiPath } from '@gateway/service-kit/error-response';

type Path = readonly (string | number)[];

/**
 * Characters that steer a terminal (C0, DEL and C1), and those that change the direction of the text around them. Names and
 * labels are printed by the command line and by others' tools.
 */
const CONTROL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/**
 * Checks every member of a request, of any meaning: texts and names without control characters, and no member
 * `__proto__`, which schemas drop without an error.
 *
 * @throws {GatewayError} for the first mistake, with its path
 */
export function checkPlain(value: unknown, path: Path = []): void {
  if (typeof value === 'string' && CONTROL.test(value)) throw hasControl(path);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (CONTROL.test(name)) throw hasControl(path);
    const at = [...path, Array.isArray(value) ? Number(name) : name];
    if (name === '__proto__') throw reserved(at);
    checkPlain(inner, at);
  }
}

const hasControl = (path: Path): GatewayError =>
  new GatewayError('invalid_value', {
    message: `Invalid value for '${openaiPath(path)}': it has a control character, such as a line break. Send printable text.`,
    path: [...path],
  });

const reserved = (path: Path): GatewayError =>
  new GatewayError('unknown_parameter', {
    message: `Unknown parameter: '${openaiPath(path)}'. This name cannot be used.`,
    path: [...path],
  });
