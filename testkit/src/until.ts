// Waits until a test is true. Throws an error that names what it waited for if the time runs out.
export async function until(
  what: string,
  test: () => boolean | Promise<boolean>,
  patienceMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await test())) {
    if (Date.now() > deadline) throw new Error(`Waited ${patienceMs} ms in vain for: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
