import { ResponsesKnownCall, ResponsesKnownOutput } from '@gateway/contracts/openai/responses-known-calls';
import { decodeSource } from '../../../neutral/content.ts';
import type { ToolResultPart } from '../../../neutral/parts.ts';
import type { RequestReader } from '../../../neutral/request-reader.ts';
import type { Path } from '../../../wire/path.ts';

type Item = { readonly [member: string]: unknown };

/** A call of a tool that has items of its own, as the call of the function that other models know it as. */
interface KnownCall {
  readonly id?: string | null | undefined;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly caller?: { type: string } | null | undefined;
}

const CALLS: ReadonlySet<string> = new Set(
  Object.keys(ResponsesKnownCall).filter((type) => type !== 'action'),
);

export const isKnownCall = (type: string): boolean => CALLS.has(type);

export const isKnownOutput = (type: string): type is keyof typeof ResponsesKnownOutput =>
  Object.hasOwn(ResponsesKnownOutput, type);

/** Null where the provider ran the call. */
export function decodeKnownCall(type: string, item: Item, at: Path, reader: RequestReader): KnownCall | null {
  switch (type) {
    case 'apply_patch_call': {
      const { operation, ...call } = reader.read(ResponsesKnownCall.apply_patch_call, item, at);
      return { ...call, name: 'apply_patch', arguments: JSON.stringify(operation) };
    }
    case 'shell_call': {
      const { action, environment, ...call } = reader.read(ResponsesKnownCall.shell_call, item, at);
      if (environment && environment.type !== 'local') return null;
      return { ...call, name: 'shell', arguments: withoutNulls(action) };
    }
    case 'local_shell_call': {
      const { action, ...call } = reader.read(ResponsesKnownCall.local_shell_call, item, at);
      const { type: _type, ...input } = action;
      return { ...call, name: 'local_shell', arguments: withoutNulls(input) };
    }
    case 'computer_call': {
      const { action, actions, ...call } = reader.read(ResponsesKnownCall.computer_call, item, at);
      const input = actions ? { actions } : (action ?? {});
      return { ...call, name: 'computer', arguments: JSON.stringify(input) };
    }
    default:
      return null;
  }
}

const withoutNulls = (members: object): string =>
  JSON.stringify(members, (_name, value: unknown) => value ?? undefined);

/** @param callId that of the call */
export function decodeKnownOutput(
  type: keyof typeof ResponsesKnownOutput,
  item: Item,
  callId: string,
  at: Path,
  reader: RequestReader,
): ToolResultPart {
  const result = { type: 'tool-result', callId, at } as const;
  const path = [...at, 'output'];
  const withText = (text: string) => ({ ...result, content: [{ type: 'text', text, at: path } as const] });
  switch (type) {
    case 'apply_patch_call_output': {
      const { output, status } = reader.read(ResponsesKnownOutput[type], item, at);
      const failed = status === 'failed';
      return { ...withText(output || (failed ? 'failed' : 'completed')), ...(failed && { isError: true }) };
    }
    case 'shell_call_output': {
      const { output } = reader.read(ResponsesKnownOutput[type], item, at);
      return withText(typeof output === 'string' ? output : output.map(shellText).join('\n'));
    }
    case 'local_shell_call_output':
      return withText(reader.read(ResponsesKnownOutput[type], item, at).output);
    case 'computer_call_output': {
      const { image_url, file_id } = reader.read(ResponsesKnownOutput[type], item, at).output;
      const source = decodeSource({ image_url, file_id }, path, reader);
      return { ...result, content: [{ type: 'image', source, at: path }] };
    }
  }
}

interface ShellOutput {
  readonly stdout?: string | null | undefined;
  readonly stderr?: string | null | undefined;
  readonly outcome?:
    | { readonly type: string; readonly exit_code?: number | null | undefined }
    | null
    | undefined;
}

function shellText({ stdout, stderr, outcome }: ShellOutput): string {
  const end = outcome?.type === 'timeout' ? 'timed out' : `exit code ${outcome?.exit_code ?? 0}`;
  return [stdout, stderr && `stderr:\n${stderr}`, outcome && end].filter(Boolean).join('\n');
}
