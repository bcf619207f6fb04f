import { Alert, Button, Stack, Text } from '@mantine/core';
import { useInterval } from '@mantine/hooks';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useRouter } from '@tanstack/react-router';
import { mayPass } from '../../api/queries.ts';

const RETRY_MS = 5_000;

/** A page, or a part of one, that could not be shown. What may pass is tried again until it has. */
export function PageFailed({ error, reset }: { error: unknown; reset: () => void }) {
  const message = error instanceof Error ? error.message : String(error);
  const isTriedAgain = mayPass(error);
  useInterval(() => isTriedAgain && reset(), RETRY_MS, { autoInvoke: true });
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} title="Could not load this">
      <Stack align="flex-start" gap="sm">
        <Text size="sm" c="var(--mantine-color-text)">
          {message}
          {isTriedAgain && ` This is tried again every ${RETRY_MS / 1000} seconds.`}
        </Text>
        <Button size="xs" variant="default" onClick={reset}>
          Try again
        </Button>
      </Stack>
    </Alert>
  );
}

/** A route that could not be opened. */
export function RouteFailed({ error }: { error: unknown }) {
  const router = useRouter();
  return <PageFailed error={error} reset={() => void router.invalidate()} />;
}
