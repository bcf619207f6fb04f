import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { getHotkeyHandler, useHotkeys } from '@mantine/hooks';
import type { Draft } from './desk.ts';

interface PromptBoxProps {
  readonly label: string;
  readonly draft: Draft;
  readonly keyId: string | undefined;
  readonly model: string;
  /** What has to be put right first. */
  readonly mistake?: string | undefined;
  /** The act, as on its button. */
  readonly action: string;
  readonly onSend: () => void;
  readonly onStop: () => void;
}

/** What is sent to one model, by the button or by Ctrl Enter; Escape stops it. */
export function PromptBox({ label, draft, keyId, model, mistake, action, onSend, onStop }: PromptBoxProps) {
  const hindrance =
    keyId === undefined ? 'Choose a key first.' : model === '' ? 'Choose a model first.' : undefined;
  const maySend = hindrance === undefined && draft.text.trim() !== '';
  const send = (): void => {
    if (maySend) onSend();
  };
  useHotkeys([['Escape', () => stopUnlessDialog(onStop), { preventDefault: false }]], []);
  return (
    <Stack gap="xs">
      {mistake !== undefined && (
        <Alert color="red" variant="light" role="alert" p="xs">
          {mistake}
        </Alert>
      )}
      <Textarea
        label={label}
        description="Ctrl+Enter to send, Escape to stop"
        autosize
        minRows={2}
        maxRows={10}
        value={draft.text}
        onChange={(event) => draft.change(event.currentTarget.value)}
        onKeyDown={getHotkeyHandler([['mod+Enter', send]])}
      />
      <Group justify="flex-end" gap="xs">
        {hindrance !== undefined && (
          <Text size="xs" c="dimmed">
            {hindrance}
          </Text>
        )}
        <Button disabled={!maySend} onClick={send}>
          {action}
        </Button>
      </Group>
    </Stack>
  );
}

/** Escape stops what runs, unless it closes a dialog. */
export function stopUnlessDialog(stop: () => void): void {
  if (document.querySelector('[role="dialog"]') === null) stop();
}
