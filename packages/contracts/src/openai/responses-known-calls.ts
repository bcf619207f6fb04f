import { z } from 'zod';

/**
 * Items of tools whose calls the caller's program runs, other than functions and free-text tools, in the form that they
 * have in the history and in answers.
 */

const optionalText = z.string().nullish();
const identity = { id: optionalText, status: z.unknown().optional(), created_by: z.unknown().optional() };
const caller = z.object({ type: z.string() }).nullish();

const keys = z.array(z.string()).nullish();
const point = { x: z.number(), y: z.number() };
const action = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('click'),
    ...point,
    button: z.enum(['left', 'right', 'wheel', 'back', 'forward']),
    keys,
  }),
  z.object({ type: z.literal('double_click'), ...point, keys }),
  z.object({ type: z.literal('drag'), path: z.array(z.object(point)).min(1), keys }),
  z.object({ type: z.literal('keypress'), keys: z.array(z.string()) }),
  z.object({ type: z.literal('move'), ...point, keys }),
  z.object({ type: z.literal('screenshot') }),
  z.object({
    type: z.literal('scroll'),
    ...point,
    scroll_x: z.number(),
    scroll_y: z.number(),
    keys,
  }),
  z.object({ type: z.literal('type'), text: z.string() }),
  z.object({ type: z.literal('wait') }),
]);

const operation = z.discriminatedUnion('type', [
  z.object({ type: z.literal('create_file'), path: z.string(), diff: z.string() }),
  z.object({ type: z.literal('update_file'), path: z.string(), diff: z.string() }),
  z.object({ type: z.literal('delete_file'), path: z.string() }),
]);

const call = { ...identity, call_id: z.string(), caller };

export const ResponsesKnownCall = {
  action,
  apply_patch_call: z.object({ ...call, type: z.literal('apply_patch_call'), operation }),
  shell_call: z.object({
    ...call,
    type: z.literal('shell_call'),
    action: z.object({
      commands: z.array(z.string()),
      timeout_ms: z.number().nullish(),
      max_output_length: z.number().nullish(),
    }),
    environment: z.object({ type: z.string(), container_id: z.unknown().optional() }).nullish(),
  }),
  local_shell_call: z.object({
    ...call,
    type: z.literal('local_shell_call'),
    action: z.object({
      type: z.unknown().optional(),
      command: z.array(z.string()),
      working_directory: optionalText,
      env: z.record(z.string(), z.string()).nullish(),
      timeout_ms: z.number().nullish(),
      user: optionalText,
    }),
  }),
  computer_call: z.object({
    ...call,
    type: z.literal('computer_call'),
    action: action.nullish(),
    actions: z.array(action).nullish(),
    pending_safety_checks: z.unknown().optional(),
  }),
} as const;

const output = { ...identity, type: z.unknown().optional(), call_id: optionalText, caller };

export const ResponsesKnownOutput = {
  apply_patch_call_output: z.object({ ...output, output: optionalText }),
  shell_call_output: z.object({
    ...output,
    max_output_length: z.unknown().optional(),
    output: z.union([
      z.string(),
      z.array(
        z.object({
          stdout: optionalText,
          stderr: optionalText,
          outcome: z.object({ type: z.string(), exit_code: z.number().nullish() }).nullish(),
          created_by: z.unknown().optional(),
        }),
      ),
    ]),
  }),
  local_shell_call_output: z.object({ ...output, output: z.string() }),
  computer_call_output: z.object({
    ...output,
    acknowledged_safety_checks: z.unknown().optional(),
    output: z.object({
      type: z.unknown().optional(),
      image_url: optionalText,
      file_id: optionalText,
      detail: z.unknown().optional(),
    }),
  }),
} as const;
