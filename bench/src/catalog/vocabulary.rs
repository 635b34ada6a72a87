//! The words that catalogs are made of.

/// Spanish nouns with their article.
pub(super) const THINGS_ES: &str = "la sombra,la casa,la noche,el río,la sangre,la ciudad,\
    el silencio,el invierno,la niña,el corazón,el camino,el jardín,el secreto,la frontera,\
    la isla,la tormenta,el espejo,el ángel,la montaña,la señal,el león,el verano,la reina,\
    el cazador,la mañana,la canción,el océano,el puente,la llave,el faro,el maestro,la estación,\
    el tren,la bruja,el lobo,la cárcel,el testigo,la herencia,el pueblo,la guerra,el payaso,\
    la carta,el ladrón,la viuda,el capitán,la lluvia,el dragón,la máscara,el fuego,la piel,\
    el hijo,la hija,el abuelo,la promesa,el último verano,la última función,el primer día,\
    la segunda vida,el perro,el caballo,la mentira,el milagro,la trampa,el náufrago,la doctora,\
    el verdugo,la modelo,el vecino,la cocina,el sótano,la torre,el laberinto,la caza,el regreso,\
    la huida,el pacto,la fiesta,el baile,la boda,el entierro,la apuesta,el golpe,la banda,\
    el circo,la mudanza,el pasajero";
/// Spanish adjectives.
pub(super) const TAILS_ES: &str = "del norte,de la noche,sin fin,de papel,en llamas,del tiempo,\
    de cristal,invisible,de los muertos,del desierto,de fuego,y la luna,salvaje,de piedra,\
    en la niebla,del sur,de mi padre,de mi madre,sin nombre,de al lado,del mar,bajo la lluvia,\
    de los otros,en silencio,de medianoche,de los lobos,que vuelve,de nadie,para dos,\
    en la ventana,de abril,de septiembre,al amanecer,del general,de la abuela,de los santos,\
    perdido en el mapa,de hierro,de sal,sin retorno,a la deriva,del pantano,de verano,\
    entre dos mundos,en blanco y negro,de la calle ocho,del barrio,de otro planeta,en el tejado,\
    con alas";
/// English first words.
pub(super) const FIRST_EN: &str = "Shadow,River,Night,Winter,Blood,Silent,Broken,Last,Lost,\
    Hidden,Red,Iron,Golden,Dark,Wild,Paper,Glass,Burning,Distant,Second,Crooked,Velvet,Northern,\
    Frozen,Electric,Quiet,Perfect,Little,Lonely,Midnight,Crimson,Hollow,Restless,Stolen,Secret,\
    Final,Rising,Falling,Bitter,Sweet,Sudden,Empty,Sacred,Savage,Gentle,Ancient,Modern,Foreign,\
    Family,Summer,Autumn,Concrete,Plastic,Silver,Copper,Scarlet,Thunder,Whispering,Forgotten,\
    Impossible,Ordinary,Seven,Three,Twelve,Hundred,American,Southern,Arctic,Deep,High,Black,\
    White,Blue";
/// English second words.
pub(super) const SECOND_EN: &str = "Road,House,City,Garden,King,Queen,Station,Harbor,Ghost,\
    Soldier,Letter,Dream,Island,Storm,Empire,Song,Witness,Hunter,Horizon,Doctor,Kitchen,Window,\
    Mirror,Machine,Protocol,Contract,Highway,Wedding,Funeral,Brothers,Sisters,Daughter,Father,\
    Valley,Mountain,Ocean,Circus,Detective,Lawyer,Teacher,Stranger,Neighbor,Passenger,Pilot,\
    Captain,Wolves,Ravens,Horses,Diamonds,Promises,Secrets,Lies,Games,Days,Nights,Hours,Kingdom,\
    Republic,Frontier,District,Avenue,Hotel,Theater,Orchestra,Waltz,Paradox,Theory,Signal,Code,\
    Verdict,Inheritance,Reckoning,Awakening,Reunion,Getaway,Ransom,Masquerade,Labyrinth,\
    Lighthouse,Tide,Desert";
/// Syllables of names of people and places.
pub(super) const SYLLABLES: &str = "ba be bo ca cha che co cu da de do fa fe fi ga go gui ja ju \
    ka ki la le li lo lu ma me mi mo na ne ni no nu pa pe pi po que ra re ri ro ru sa se si so \
    ta te ti to tu va ve vi xa ya yo za zu bran cor del fer gar lan mar nor per ros san tor val \
    ven";
/// Words of nicknames.
pub(super) const NICKS: &str = "lobo tigre zorro cine rock negro rojo luna sol norte sur mago \
    pirata gato perro fantasma capitan doctor maestro loco viejo chico dark master king sub \
    movie neo alex juan mati nico seba lucho pepe caro vale flor gabi tinta faro rio nube trueno";
/// Release groups.
pub(super) const GROUPS: &str = "PAMPA ANDES CEiBO OMBU TANGO NOCTURNO CARACOL FAROL MiRADOR \
    ZARZA TRiNiDAD ALBOR QUETZAL PUMA LiNTERNA SOTAVENTO AZABACHE JACARANDA CORMORAN TUNDRA \
    BRASA MAREA CENiT DUNA ECLiPSE FiORDO GLACiAR HALCON iBiS JADE KODAMA LAUREL MiSTRAL NACAR \
    OASiS PEDERNAL RELAMPAGO SABiNA TRUENO UMBRAL VENTiSCA YESCA ZAFiRO ALMENA BiTACORA CRiSOL \
    DELTA ESPiGA";
/// Kinds of Spanish, as uploaders name them.
pub(super) const VARIANTS: &[&str] = &[
    "español latino",
    "español de España",
    "castellano",
    "español neutro",
    "latino",
    "español latinoamericano",
    "español de Argentina",
    "español de México",
    "ibérico",
];
/// Sentences about movies and episodes; the names in braces are replaced.
pub(super) const SENTENCES: &[&str] = &[
    "Para {rel}",
    "Para la versión {rel} en {var}.",
    "Para {rel}. Revisados de principio a fin.",
    "Sincronizados a mano con {rel}. Si notan algún desfase, avisen y lo corrijo.",
    "Los de {user}, movidos para {rel}. El mérito es suyo.",
    "Los de {user} estaban atrasados {off} segundos; estos no. {rel}",
    "Traducción propia, {var}. {rel}",
    "Traducidos entre {user} y {user2}, corregidos por {user3}.\r\n{rel}",
    "Traducción: {user}\r\nCorrección: {user2}\r\n{rel}",
    "Sacados del disco, {var}, sin errores de reconocimiento. {rel}",
    "Oficiales de la plataforma, {var}. Duración {dur}.",
    "Solo lo que se habla en otros idiomas (forzados). {rel}",
    "Con acotaciones para personas sordas, {var}. {src}",
    "Versión extendida, {dur}. {rel}",
    "Archivo de {size}, {fps} cuadros por segundo, duración {dur}. {var}.",
    "Pasados de {fps} a 23.976 para {rel}",
    "Sirven también para {rel2}",
    "Sirven para:\r\n{rel}\r\n{rel2}",
    "Temporada completa, {var}. {rel}",
    "Capítulo {se}, {var}. {rel}",
    "{title} {se} {var} - corrección: {user}",
    "{title} ({year}), versión {src}-{grp}",
    "¡Ojo! No es la versión de cine. {rel}",
    "¿Alguien los probó con {rel2}? A mí me andan con {rel}.",
    "Pedidos por {user}. {var}. {rel}",
    "Vuelvo a subirlos porque los acentos estaban mal. {rel}",
    "Codificación UTF-8, tildes y eñes corregidas. {var}. {rel}",
    "Sin modismos ni líneas largas. {var}. Para {rel}",
    "Dos discos. {rel}",
    "Un solo archivo, unidos los dos discos. {rel}",
    "Para el rip de {grp} ({size}).",
    "Hechos desde cero; si alguien los mejora, bienvenido. {user}",
    "Latino e ibérico en el mismo archivo. {rel}",
    "los baje de otro lado y los acomode para {rel} espero les sirvan",
    "funcionan perfecto con {grp}",
    "van bien con {rel}",
];
/// Endings of descriptions.
pub(super) const ENDINGS: &[&str] = &[
    "",
    "",
    "",
    "",
    "",
    "",
    " Saludos.",
    " ¡Que los disfruten!",
    " Se agradece un comentario.",
    " Gracias a los traductores.",
    " Cualquier error me avisan.",
    " ¡Gracias {user}!",
];

/// The words of a list.
pub(super) fn words(list: &'static str, separator: char) -> Vec<&'static str> {
    list.split(separator)
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect()
}
