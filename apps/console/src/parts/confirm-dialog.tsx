import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Dialog } from './dialog.tsx';

interface ConfirmDialogProps {
  readonly title: string;
  /** What it does and whether it can be undone. */
  readonly children: ReactNode;
  /** The act, as on its button: `Revoke`. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** What the person types before something that cannot be undone. */
  readonly typed?: string;
  /** Whether all that the person is asked is answered. Default: true. */
  readonly isReady?: boolean;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before an act that others notice. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, action, isDangerous = false, typed, isReady = true } = props;
  const { isPending, error, onConfirm, onClose } = props;
  const [text, setText] = useState('');
  const mayConfirm = isReady && (typed === undefined || text === typed);
  return (
    <Dialog onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (mayConfirm) onConfirm();
        }}
      >
        <Stack>
          <div>{children}</div>
          {typed !== undefined && (
            <TextInput
              label={`Type ${typed} to confirm`}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
          )}
          {error && (
            <Alert color="red" variant="light" role="alert">
              {error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              color={isDangerous ? 'red' : 'indigo'}
              loading={isPending}
              disabled={!mayConfirm}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
