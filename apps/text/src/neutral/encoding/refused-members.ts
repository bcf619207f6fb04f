import { formatPath, type Path } from '../../wire/path.ts';
import { refuseParameter } from '../losses.ts';
import { callersMemberPath } from '../scalar-paths.ts';
import type { Encoder } from './encoder.ts';

/** Members whose loss would change what the caller gets. */
const MEANINGFUL: ReadonlySet<string> = new Set([
  'messages',
  'input',
  'system',
  'instructions',
  'tools',
  'tool_choice',
  'response_format',
  'text',
  'output_config',
  'web_search_options',
  'mcp_servers',
  'container',
  'moderation',
]);

/** Members that the gateway adds for its own use; nobody misses them. */
const OUR_OWN: ReadonlySet<string> = new Set(['stream_options', 'store', 'include']);

/** Whether a member at the top, such as the tools, is one whose loss would change the answer. */
export const isMeaningful = ([member, ...inside]: Path): boolean =>
  inside.length === 0 && typeof member === 'string' && MEANINGFUL.has(member);

/** Leaves out what the server is known to refuse. @throws GatewayError where that would change the meaning */
export function omitRefusedMembers(
  body: { readonly [member: string]: unknown },
  { conversation, target, losses }: Encoder,
): { [member: string]: unknown } {
  const rest = { ...body };
  for (const member of target.quirks.refusedMembers) {
    if (rest[member] === undefined) continue;
    const path = callersMemberPath(member, target.protocol, conversation);
    if (MEANINGFUL.has(member)) {
      refuseParameter(path, `'${formatPath(path)}' is not supported by the model that would answer.`);
    }
    if (!OUR_OWN.has(member)) losses.drop(path, 'refused by this upstream');
    delete rest[member];
  }
  return rest;
}
