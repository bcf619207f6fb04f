import { Alert, Button, Group } from '@mantine/core';

interface FormEndProps {
  /** The act, as on its button: `Create key`. */
  readonly action: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onCancel: () => void;
}

/** The end of a form: what the admin service said against it, and the buttons. */
export function FormEnd({ action, isPending, error, onCancel }: FormEndProps) {
  return (
    <>
      {error && (
        <Alert color="red" variant="light" role="alert">
          {error.message}
        </Alert>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={isPending}>
          {action}
        </Button>
      </Group>
    </>
  );
}
