import { Alert, Button, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';

/** A page, or a part of one, that could not be shown. */
export function PageFailed({ error, reset }: { error: unknown; reset?: (() => void) | undefined }) {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} title="Could not load this">
      <Stack align="flex-start" gap="sm">
        <Text size="sm" c="var(--mantine-color-text)">
          {message}
        </Text>
        {reset && (
          <Button size="xs" variant="default" onClick={reset}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
