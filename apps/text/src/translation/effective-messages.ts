import { refuseParameter } from '../neutral/losses.ts';
import type { JsonObject } from '../wire/json-object.ts';
import type { Path } from '../wire/path.ts';
import { isJsonObject } from '../wire/raw-json.ts';

/**
 * A Messages request without the members that only its own provider serves, each done here or refused: what is
 * left means the same to every model. Positions stay, so that errors name the caller's own.
 *
 * @throws {GatewayError} `unsupported_parameter` for what another provider cannot do and the caller would miss
 */
export function effectiveMessages(body: unknown): unknown {
  if (!isJsonObject(body)) return body;
  for (const [member, refusal] of Object.entries(REFUSALS)) {
    const value = body[member] ?? null;
    if (value !== null && refusal.applies(value)) refuseParameter([member], refusal.message);
  }
  for (const [index, tool] of listOf(body.tools).entries()) refuseIndirect(tool, ['tools', index]);
  const { output_format: format, billing_policy: _, thread: __, ...rest } = body;
  const messages = listOf(body.messages);
  const changes = new ToolChanges(body.tools);
  const lastUsers = messages.findLastIndex(isUsers);
  const shown = messages.map((message, index) => shownMessage(message, index, lastUsers, changes));
  const config = {
    ...objectOf(body.output_config),
    ...lastEffort(messages),
    ...((format ?? null) !== null && { format }),
  };
  return {
    ...rest,
    ...(messages.length > 0 && { messages: shown }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...changes.result(),
  };
}

interface Refusal {
  readonly applies: (value: unknown) => boolean;
  readonly message: string;
}

const always = () => true;

const REFUSALS: Readonly<Record<string, Refusal>> = {
  compaction: {
    applies: always,
    message: "'compaction' is not available for this model. Ask for a summary in a message of your own.",
  },
  inference_geo: {
    applies: always,
    message: "'inference_geo' is not available for this model: its provider does not promise where it works.",
  },
  billing_policy: {
    applies: (value) => (objectOf(value).bill_to ?? 'self') !== 'self',
    message: "'billing_policy' is not available for this model: another party would be billed.",
  },
  fallback_credit_token: {
    applies: isJsonObject,
    message: "'fallback_credit_token' is not available for this model in this form. Leave it out.",
  },
};

/** A tool that only code may call, which runs at the provider. */
function refuseIndirect(tool: unknown, path: Path): void {
  const callers = objectOf(tool).allowed_callers;
  if (!Array.isArray(callers) || callers.includes('direct')) return;
  refuseParameter(
    [...path, 'allowed_callers'],
    'Tools that only code may call are not available for this model.',
  );
}

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The effort that a system message sets holds until another one does. */
function lastEffort(messages: readonly unknown[]): { effort?: unknown } {
  const setting = messages
    .map((message) => objectOf(objectOf(message).output_config).effort ?? null)
    .findLast((effort) => effort !== null);
  return setting === undefined ? {} : { effort: setting };
}

function shownMessage(message: unknown, index: number, lastUsers: number, changes: ToolChanges): unknown {
  if (!isJsonObject(message)) return message;
  const { role, content, clear_at: clearAt, output_config: _, ...rest } = message;
  const path = ['messages', index, 'content'];
  if (role !== 'system') {
    if (!Array.isArray(content)) return message;
    const blocks = content.map((block, at) => shownBlock(block, [...path, at], changes));
    return { ...message, content: blocks };
  }
  const isSpent = clearAt === 'next_user_message' && lastUsers > index;
  const blocks = listOf(content).filter((block, at) => !changes.apply(block, [...path, at]));
  return { ...rest, role, content: isSpent ? [] : typeof content === 'string' ? content : blocks };
}

const isUsers = (message: unknown): boolean => objectOf(message).role === 'user';

/** A summary replaces everything before it; every model can read it. */
function shownBlock(block: unknown, path: Path, changes: ToolChanges): unknown {
  if (!isJsonObject(block) || block.type !== 'compaction') return block;
  if (typeof block.content !== 'string')
    refuseParameter(path, 'This compaction can be read by its provider only. Send the conversation itself.');
  for (const [index, change] of listOf(block.tool_changes).entries())
    changes.apply(change, [...path, 'tool_changes', index]);
  return { type: 'text', text: block.content };
}

/** The tools in effect after those that were added and removed on the way. */
class ToolChanges {
  readonly #declared: readonly unknown[];
  readonly #removed = new Set<unknown>();
  readonly #added = new Map<unknown, unknown>();
  #hasChanged = false;

  constructor(tools: unknown) {
    this.#declared = listOf(tools);
  }

  /** Whether the block was a change of tools. */
  apply(block: unknown, path: Path): boolean {
    const { type, tool } = objectOf(block);
    if (type !== 'tool_addition' && type !== 'tool_removal') return false;
    this.#hasChanged = true;
    const { type: form, definition, name } = objectOf(tool);
    if (type === 'tool_addition' && form === 'tool_definition') {
      this.#add(objectOf(definition).name, definition);
    } else if (form !== 'tool_reference') {
      refuseParameter([...path, 'tool'], 'Tools of MCP servers are not available for this model.');
    } else if (type === 'tool_removal') {
      this.#removed.add(name);
    } else this.#removed.delete(name);
    return true;
  }

  #add(name: unknown, definition: unknown): void {
    this.#removed.delete(name);
    this.#added.set(name, definition);
  }

  result(): { tools?: readonly unknown[] } {
    if (!this.#hasChanged) return {};
    const kept = this.#declared.filter((tool) => !this.#added.has(objectOf(tool).name));
    const tools = [...kept, ...this.#added.values()].filter(
      (tool) => !this.#removed.has(objectOf(tool).name),
    );
    return { tools };
  }
}
