import { type Losses, refuseParameter } from './losses.ts';

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
]);

/** Members that the gateway adds for its own use; nobody misses them. */
const OUR_OWN: ReadonlySet<string> = new Set(['stream_options', 'store', 'include']);

/** Leaves out what the server is known to refuse. @throws GatewayError where that would change the meaning */
export function omitRefusedMembers(
  body: { readonly [member: string]: unknown },
  refusedMembers: readonly string[],
  losses: Losses,
): { [member: string]: unknown } {
  const rest = { ...body };
  for (const member of refusedMembers) {
    if (rest[member] === undefined) continue;
    if (MEANINGFUL.has(member)) {
      refuseParameter([member], `'${member}' is not supported by the model that would answer.`);
    }
    if (!OUR_OWN.has(member)) losses.drop([member], 'refused by this upstream');
    delete rest[member];
  }
  return rest;
}
