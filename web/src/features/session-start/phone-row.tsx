// Lets a phone in. At an address of this machine alone it says so, instead of a link that cannot work.
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { words } from "../../words/words.ts";
import { isLoopback, personQuery } from "../access/index.ts";

const PhoneDialog = lazy(async () => ({
  default: (await import("../access/index.ts")).PhoneDialog,
}));

export function PhoneRow(): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const { data: person } = useQuery(personQuery);
  const isHere = isLoopback(location.hostname);
  // A provider signs in all devices of its people itself.
  if (person?.isOfProvider === true) return null;
  return (
    <section aria-label={words("phone.open")}>
      <div className="group">
        <div className="line">
          <div className="grow">
            {words("start.phone")}
            <span className="sub">
              {isHere
                ? words("phone.loopback", { host: location.host })
                : words("start.phone.about")}
            </span>
          </div>
          {!isHere && (
            <button type="button" className="btn sm" onClick={() => setIsOpen(true)}>
              {words("start.phone.show")}
            </button>
          )}
        </div>
      </div>
      {isOpen && (
        <Suspense>
          <PhoneDialog onClose={() => setIsOpen(false)} />
        </Suspense>
      )}
    </section>
  );
}
