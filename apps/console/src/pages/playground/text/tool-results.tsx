import { Button, Stack, Textarea } from '@mantine/core';
import { useState } from 'react';
import type { ToolCall, ToolResult } from './protocol.ts';

interface ToolResultsProps {
  readonly calls: readonly ToolCall[];
  readonly onSend: (results: readonly ToolResult[]) => void;
}

/** The person stands in for the tools that a model has called. */
export function ToolResults({ calls, onSend }: ToolResultsProps) {
  const [outputs, setOutputs] = useState<Readonly<Record<string, string>>>({});
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(calls.map((call) => ({ call, output: outputs[call.id] ?? '' })));
      }}
    >
      <Stack gap="xs">
        {calls.map(({ id, name }) => (
          <Textarea
            key={id}
            label={`Result of ${name}`}
            size="xs"
            autosize
            minRows={1}
            maxRows={8}
            value={outputs[id] ?? ''}
            onChange={({ currentTarget: { value } }) => setOutputs((before) => ({ ...before, [id]: value }))}
          />
        ))}
        <Button type="submit" size="xs" variant="default">
          Send {calls.length === 1 ? 'the result' : 'the results'}
        </Button>
      </Stack>
    </form>
  );
}
