import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { refusalError } from './form-error.ts';
import type { FormRules } from './form-rules.ts';

/** Space for boundaries and the heads of parts. */
const FRAMING_BYTES = 128 * 1024;

/** The largest body that can hold a form of these rules. */
export const largestBody = ({ parts, fieldsTotalBytes }: FormRules): number =>
  parts.reduce((sum, { most, maxBytes }) => sum + most * maxBytes, fieldsTotalBytes + FRAMING_BYTES);

/** Refuses by the headers alone a body that is not a form, or is too large. @throws {GatewayError} */
export function checkHead({ headers }: IncomingMessage, rules: FormRules): void {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'multipart/form-data') {
    const also = rules.alsoTakes === undefined ? '' : ` or '${rules.alsoTakes}'`;
    throw new GatewayError(
      'unsupported_content_type',
      `Unsupported content type: '${type ?? 'none'}'. This endpoint takes 'multipart/form-data'${also}.`,
    );
  }
  if (Number(headers['content-length'] ?? 0) > largestBody(rules)) throw refusalError(rules.tooLarge);
}
